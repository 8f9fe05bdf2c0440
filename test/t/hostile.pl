# Input that is meant badly, or badly made: every function with every argument in turn set to values that it should not like,
# contents of unusual size and depth, other encodings and collations, functions called as what they are not. Each call gives a
# result or a clear error, never an internal one; the server stays up and the tables stay sound.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "fsync = off\nscylla.schedules = manual\nlog_min_error_statement = panic\nmax_stack_depth = '2 MB'");
my %count;
# PostgreSQL 19 knows the standard only.
my @nonstandard = sql($node, 'show server_version_num') < 190000 ? "set standard_conforming_strings = off; set escape_string_warning = off" : ();

# What every database of this test has.
my $tools = <<'SQL';
create extension scylla;
create schema test;
-- The SQLSTATE of a statement, 00000 if it succeeds.
create function test.attempt(statement text) returns text language plpgsql as $$
begin
    execute statement;
    return '00000';
exception when others then
    return sqlstate;
end $$;
SQL
sql($node, $tools);

# ---- every argument of every function ------------------------------------------------------------------------------------------------

sql($node, <<'SQL');
set search_path = test, public;

-- Values that somebody may come up with, by type.
create table value (type regtype, value text); -- an expression
insert into value
select 'text'::regtype, v from unnest(array['''''', ''' ''', $v$'''; drop table scylla.task_spec; --'$v$, $v$'"'$v$, $v$E'\\'$v$, $v$E'\\''"'$v$, $v$E'\n'$v$,
    $v$E'\x01\x1f\x7f\t\r'$v$, '''$1 $$ $a$ %s %n %I {} [] <script>&amp;''', $v$U&'\202E\FEFF\+01F600'$v$, '''../../etc/passwd''', '''-1''', '''null''', '''public''', '''scylla.task_spec''',
    'repeat(''x'', 200)', 'repeat(''é'', 201)', 'repeat(''x'', 1000000)', '''* * * * *''', '''99 99 99 99 99''', '''1 second''', '''-1 seconds''', '''Europe/Berlin''', '''<x>-99:99''']) v
union all select 'jsonb', v from unnest(array['''null''', '''1''', '''true''', '''""''', '''[]''', '''{}''', '''[[]]''', '''[null]''', '''[{}]''', '''[1, "a", {}]''', '''{"": null}''',
    'repeat(''['', 1000)::text || repeat('']'', 1000)', '''1'' || repeat(''0'', 100000)', '''"'' || repeat(''x'', 1000000) || ''"''', '''{"code": ""}''', '''{"code": 1}''',
    '''{"code": "x", "args": 1, "message": null}''', '''{"initial": "infinity"}''', '''{"factor": 1e308, "max": "178000000 years"}''', '''{"factor": 1e10000}''', '''{"jitter": "x"}''',
    '''{"unknown": 1}''', '''[{"queue": "q", "spec": 1, "rn": ""}]''', '''[{"queue": null, "spec": null}]''', '''[{"queue": "q", "spec": 1, "priority": 1e1000}]''',
    '''[{"queue": "q", "spec": 1, "depends_on": [null]}]''', '''[{"queue": "q", "spec": 1, "rn": "x", "depends_on": ["x"]}]''', '''[{"queue": "q", "spec": 1, "not_before": "infinity"}]''',
    '''[{"queue": "q", "spec": 1, "not_before": "\u0001"}]''', '''{"max_running": -1}''', '''{"retention": "-1 s", "aging": "NaN"}''']) v
union all select 'integer', v from unnest('{0,1,-1,128,2147483647,-2147483648}'::text[]) v
union all select 'bigint', v from unnest('{0,1,-1,9223372036854775807,-9223372036854775808}'::text[]) v
union all select 'double precision', v from unnest('{0,1,-1,''NaN'',''Infinity'',''-Infinity'',1e308,5e-324}'::text[]) v
union all select 'boolean', v from unnest('{true,false}'::text[]) v
union all select 'interval', quote_literal(v) from unnest('{0,1 us,-1 s,365 days,366 days,178000000 years,-178000000 years,1 mon -31 days,2147483647 days,2147483647 months 2147483647 days}'::text[]) v
union all select 'interval', quote_literal(v) from unnest('{infinity,-infinity}'::text[]) v where current_setting('server_version_num')::int >= 170000
union all select 'timestamptz', quote_literal(v) from unnest('{infinity,-infinity,epoch,4713-01-01 00:00:00+00 BC,294276-12-31 23:59:59.999999+00,1900-02-28,2100-01-01}'::text[]) v
union all select 'text[]', quote_literal(v) from unnest(array['{}', '{null}', '{""}', '{{a,b},{c,d}}', '[5:6]={a,b}', '{a,a}', '{a,b,c,d,e,none}']) v
union all select 'text[]', 'array_fill(''x''::text, ''{100000}'')'
union all select 'integer[]', quote_literal(v) from unnest('{"{}","{null}","{{1},{2}}","{1}","[-1:-1]={2147483647}"}'::text[]) v
union all select 'jsonb[]', quote_literal(v) from unnest('{"{}","{null}","{{1,2},{3,4}}","{\"null\"}","[7:7]={1}"}'::text[]) v
union all select 'scylla.task_status', quote_literal(v) from unnest(enum_range(null::scylla.task_status)) v
union all select 'name', '''nobody''' union all select 'oid', '0' union all select 'oid', '4294967295' union all select 'regclass', '0';
insert into value select distinct type, 'null' from value;

-- What an argument is otherwise, by its name, else by its type.
create table usual (name text primary key, value text);
insert into usual values ('queue', '''q'''), ('queues', '''{q}'''), ('rn', '''a'''), ('rns', '''{a}'''), ('worker', '''w'''), ('plan', '''p'''), ('spec', '''{}'''),
    ('specs', 'array[''1'']::jsonb[]'), ('tasks', '''[{"queue": "q", "spec": 1}]'''), ('error', '''{"code": "x"}'''), ('cron', '''* * * * *'''), ('role', '''public'''),
    ('privilege', '''view'''), ('settings', '''{}'''), ('name', '''n'''), ('timezone', '''UTC'''), ('timeout', '''1 h'''), ('count', '1'), ('attempts', '''{1}''');

-- Brings back what the calls use.
create function restore() returns void language plpgsql as $$
begin
    if not exists (select from scylla.queue where name = 'q') then
        perform scylla.create_queue('q');
    end if;
    if not exists (select from scylla.task_plan where name = 'p') then
        perform scylla.create_plan('p');
    end if;
    if not exists (select from scylla.task where rn = 'a' and status = 'running' and owner = 'w' and attempt = 1) then
        update scylla.task_spec set rn = 'a ' || id where rn = 'a';
        perform scylla.submit('q', '{}', rn => 'a'), scylla.alter_queue('q', '{"paused": false, "max_running": null}');
        perform scylla.lease_task('a', 'w');
    end if;
end $$;

create table result (function regprocedure, call text, code text);
create procedure call_all() language plpgsql as $$
declare
    each record;
begin
    for each in
        with argument as (
            select p.oid, p.prokind, a.i, p.proargnames[a.i] as name, t.type::regtype as type, p.pronargs - p.pronargdefaults < a.i as is_optional
              from pg_proc p, generate_series(1, p.pronargs) a(i),
                   lateral (select coalesce(p.proallargtypes[a.i], p.proargtypes[a.i - 1])) t(type)
             where p.pronamespace = 'scylla'::regnamespace and 'internal'::regtype <> all (p.proargtypes))
        select a.oid, format('%s %s(%s)', case a.prokind when 'p' then 'call' else 'select' end, a.oid::regproc,
                             string_agg(format('%s => (%s)::%s', b.name, case when a.i = b.i then v.value
                                        else coalesce(u.value, (select min(w.value) from value w where w.type = b.type and w.value <> 'null'), 'null') end, b.type), ', ' order by b.i)) as call
          from argument a join argument b using (oid) join value v on v.type = a.type left join usual u on u.name = b.name
         where a.i = b.i or not b.is_optional
         group by a.oid, a.prokind, a.i, v.value
        union all
        select p.oid, format('select %s()', p.oid::regproc) from pg_proc p where p.pronamespace = 'scylla'::regnamespace and p.prokind = 'f' and p.pronargs = p.pronargdefaults
        order by 1, 2 -- the same every time
    loop
        perform test.restore();
        insert into test.result values (each.oid, each.call, test.attempt(each.call));
        commit;
    end loop;
end $$;
SQL
$node->psql('postgres', 'set search_path = test, public; call call_all()', stdout => \my $all_out, stderr => \my $all_err);
unlike($all_err, qr/ERROR|FATAL/, 'every function is called with every kind of argument') or diag substr $all_err, 0, 2000;

is(sql($node, q(select code, call from test.result where code !~ '^(00000|0A000|22003|22008|22023|25001|2BP01|42501|42601|42704|42710|53400|54000|55000|P0002)$' order by 2 limit 20)),
	'', '... and gives a result or one of the errors that it is known to give');
is(sql($node, <<'SQL'), '', '... and metrics() has found words for all of them');
select line from scylla.metrics() m, regexp_split_to_table(m, '\n') line
 where line !~ '^(|#.*|[a-z_]+({([a-z_]+="([^"\\]|\\[\\n"])*",?)*})? [-+.0-9a-zA-Z]+)$' limit 10
SQL
$count{'arguments of functions'} = sql($node, 'select count(*) from test.result');
checked($node, 'check() finds nothing afterwards');

# ---- statements, each with the SQLSTATE that it should give ------------------------------------------------------------------------------

# Runs them in one session; an expectation is a regular expression.
sub expect
{
	my ($class, $database, $before, @cases) = @_;
	my $script = "$before;\n";
	$script .= "$cases[$_][1]\n;\n\\echo $_ :SQLSTATE\nrollback;\n" for 0 .. $#cases;
	my $status = $node->psql($database, $script, stdout => \my $out, stderr => \my $err, on_error_stop => 0);
	is($status, 0, "$class in $database: the server goes on") or diag substr $err, 0, 1000;
	my %got = map { /^(\d+) (\w{5})$/ ? ($1, $2) : () } split /\n/, $out;
	like($got{$_} // 'nothing', qr/^($cases[$_][0])$/, "$class in $database: " . substr($cases[$_][1] =~ s/\s+/ /gr, 0, 150)) for 0 .. $#cases;
	checked($node, "$class in $database: check() finds nothing", $database);
	$count{$class} += @cases;
}

sql($node, q(select test.restore(); create table test.t (t text); grant all on schema test to public));

expect('contents', 'postgres', 'set search_path = test',
	[ '00000', q(select length(rn) from scylla.submit('deep', (repeat('[', 1000) || repeat(']', 1000))::jsonb, rn => 'deep')) ],
	[ '00000', q(select rn from scylla.lease('deep', 'w')) ],
	[ '00000', q(select rn from scylla.complete('deep', 'w', (repeat('{"a":', 1000) || 1 || repeat('}', 1000))::jsonb)) ],
	[ '00000|54001', q(select count(*) from scylla.submit('deep', (repeat('[', 10000) || repeat(']', 10000))::jsonb)) ],
	[ '00000', q(select max(length(spec::text)) from scylla.lease('deep', 'w')) ],
	[ '54001', q(select rn from scylla.submit('deep', repeat('[', 1000000)::jsonb)) ],
	[ '22P05', q(select rn from scylla.submit('q', '"\u0000"')) ],
	[ '22P05', q(select rn from scylla.submit_many('[{"queue": "q", "spec": 1, "rn": "a\u0000b"}]')) ],
	[ '54000', q(select rn from scylla.submit(chr(0), '1')) ],
	[ '22021', q(select rn from scylla.submit(E'\\000', '1')) ],
	[ '22021', q(select rn from scylla.submit(E'\\xff', '1')) ],
	[ '22023', q(select rn from scylla.submit('q', '1', rn => repeat('x', 10000000))) ],
	[ '22023', q(select rn from scylla.submit('q', '1', dedup_key => repeat('x', 10000000))) ],
	[ '22023', q(select count(*) from scylla.heartbeat_many(array[repeat('x', 10000000)], 'w')) ],
	[ '22023', q(select scylla.submit_many(('{"queue": "' || repeat('x', 10000000) || '"}')::jsonb)) ],
	[ '00000', q(select length(rn) from scylla.submit('big', to_jsonb(repeat(md5('x'), 320000)), rn => 'big')) ],
	[ '00000', q(select length(spec::text) from scylla.lease('big', 'w')) ],
	[ '22023', q(select scylla.fail('big', 'w', jsonb_build_object('code', repeat('x', 10000000)))) ],
	[ '00000', q(select length(rn) from scylla.complete('big', 'w', to_jsonb(repeat(md5('y'), 320000)), to_jsonb(repeat(md5('z'), 320000)))) ],
	[ '00000', q(select length(spec::text || result::text) from scylla.task where rn = 'big') ],
	[ '00000', q(select length(rn) from scylla.submit('big', '1', rn => 'after', depends_on => '{big,deep}')) ],
	[ '00000', q(select length(args::text) from scylla.lease('big', 'w')) ],
	# Results that are too much for one value do not stand in the way of the queue.
	[ '00000', q(select rn from scylla.submit('huge', '1', rn => 'huge')) ],
	[ '00000', q(select rn from scylla.submit('huge', '1', depends_on => '{huge,huge,huge}')) ],
	[ '00000', q(select rn from scylla.lease('huge', 'w')) ],
	[ '00000', q(select rn from scylla.complete('huge', 'w', to_jsonb(repeat('x', 30000000)))) ],
	[ '00000', q(select 1 / count(*) filter (where args is null) from scylla.lease('huge', 'w')) ]);

expect('misuse', 'postgres', 'set search_path = test',
	[ '42P17', q(create trigger t before insert on t for each row execute function scylla.purge()) ],
	[ '42P17', q(create event trigger e on ddl_command_end execute function scylla.purge()) ],
	[ '42883|42P13', q(create aggregate a(text) (sfunc = scylla.plan_completed, stype = boolean)) ],
	[ '00000', q(create cast (text as boolean) with function scylla.plan_completed(text)) ],
	[ 'P0002', q(select cast('none'::text as boolean)) ],
	[ '00000', q(drop cast (text as boolean)) ],
	[ '42P17', q(create index on t (scylla.plan_completed(t))) ],
	[ '42P17', q(alter table t add b boolean generated always as (scylla.plan_completed(t)) stored) ],
	[ '42883', q(select scylla.complete(1, 2)) ],
	[ '42883', q(select scylla.lease(array['q'], 'w')) ],
	[ '42883', q(select scylla.submit(spec => '{}')) ],
	[ '42883', q(select scylla.submit('q', '{}', colour => 'red')) ],
	[ '42883', q(select scylla.submit(row('q'), row('{}'))) ],
	[ '42809', q(call scylla.submit('q', '{}')) ],
	[ '42809', q(select scylla.wait('q')) ],
	[ '42809', q(select scylla.submit('q', '{}') over ()) ],
	[ '42809', q(select scylla.submit(distinct 'q', '{}')) ],
	[ '0A000', q(select case when true then scylla.lease('q', 'w') end) ],
	[ '0A000', q(update t set t = scylla.lease('q', 'w')) ],
	[ '00000', q(select scylla.lease('q', 'w') from generate_series(1, 3)) ],
	[ '00000', q(select * from rows from (scylla.lease('q', 'w'), scylla.lease('q', 'w')) with ordinality) ],
	[ '00000', q(select array(select scylla.submit('q', '{}')), (select count(*) from scylla.lease('q', 'w', 100))) ],
	[ '00000', q(select 1 order by scylla.submit('q', '{}') limit (select count(*) from scylla.lease('q', 'w', 3))) ],
	[ '00000', q(create view v as select rn from scylla.submit('q', '{}')) ],
	[ '00000', q(select count(*) from v, v w) ],
	[ '00000', q(create table d (rn scylla.task default scylla.submit('q', '{}'), check ((rn).queue = 'q'))) ],
	[ '00000', q(insert into d select from generate_series(1, 10)) ],
	[ '00000', q(create rule r as on insert to t do also select scylla.submit('q', '{}')) ],
	[ '00000', q(insert into t values ('x')) ],
	[ '00000', q(create materialized view m as select rn from scylla.submit('q', '{}')) ],
	[ '00000', q(refresh materialized view m) ],
	[ '00000', q(create domain dom as text check (not scylla.plan_completed(value))) ],
	[ 'P0002', q(select 'x'::dom) ],
	[ '00000', q(create operator === (rightarg = text, function = scylla.plan_completed)) ],
	[ 'P0002', q(select === 'none') ],
	[ '00000', q(prepare submit as select rn from scylla.submit($1, $2)) ],
	[ '22P02', q(execute submit('q', 'no json')) ],
	[ '00000', q(explain (analyze, costs off) execute submit('q', '{}')) ],
	[ '00000', q(begin; declare c scroll cursor for select rn from scylla.lease('q', 'w', 5); fetch 3 from c; fetch backward all from c; fetch all from c; move first in c; commit) ],
	[ '00000', q(begin; declare c cursor with hold for select rn from scylla.lease('q', 'w', 5); commit; fetch all from c; close c) ],
	[ '00000', q(create table made as select * from scylla.submit('q', '{}')) ],
	[ '2BP01', q(drop view scylla.task) ],
	[ '55000|0A000', q(insert into scylla.task (rn) values ('x')) ],
	[ '55000|0A000', q(update scylla.task set rn = 'x') ],
	[ '55000|0A000', q(delete from scylla.task) ]);

expect('procedures', 'postgres', 'set search_path = test',
	[ '00000', q(call scylla.wait('none', '1 ms')) ],
	[ '0A000', q(call scylla.wait('none', timeout => interval '1 ms', ready => (select true))) ],
	[ '25001', q(begin; call scylla.wait('none', '1 ms')) ],
	[ '25001', q(select 1\; call scylla.wait('none', '1 ms')) ],
	[ '00000', q(do 'declare r boolean; begin call scylla.wait(''none'', ''1 ms'', r); end') ],
	[ '00000', q(do 'declare r boolean; begin for i in 1 .. 3 loop call scylla.wait(''none'', ''1 ms'', r); perform scylla.submit(''q'', ''{}''); end loop; end') ],
	[ '00000', q(do 'declare r boolean; i int; begin for i in select generate_series(1, 3) loop call scylla.wait(''none'', ''1 ms'', r); end loop; end') ],
	[ '25001', q(do 'declare r boolean; begin begin call scylla.wait(''none'', ''1 ms'', r); exception when division_by_zero then null; end; end') ],
	[ '25001', q(begin; do 'declare r boolean; begin call scylla.wait(''none'', ''1 ms'', r); end') ],
	[ '00000', q(create function f() returns trigger language plpgsql as 'declare r boolean; begin call scylla.wait(''none'', ''1 ms'', r); return new; end') ],
	[ '00000', q(create trigger f before insert on d for each row execute function f()) ],
	[ '25001', q(insert into d default values) ],
	[ '00000', q(create function g() returns boolean language plpgsql as 'declare r boolean; begin call scylla.wait(''none'', ''1 ms'', r); return r; end') ],
	[ '25001', q(select g()) ],
	[ '00000', q(create procedure p() language plpgsql security definer as 'declare r boolean; begin call scylla.wait(''none'', ''1 ms'', r); end') ],
	[ '25001', q(call p()) ],
	[ '00000', q(create procedure s() language plpgsql set work_mem = '1 MB' as 'declare r boolean; begin call scylla.wait(''none'', ''1 ms'', r); end') ],
	[ '25001', q(call s()) ],
	[ '00000', q(create procedure n() language plpgsql as 'declare r boolean; begin call scylla.wait(''none'', ''1 ms'', r); end') ],
	[ '00000', q(call n()) ],
	[ '0A000|42601', q(prepare w as call scylla.wait('none', '1 ms')) ],
	[ '42601', q(explain call scylla.wait('none', '1 ms')) ],
	[ '42601', q(with w as (call scylla.wait('none', '1 ms')) select 1) ],
	[ '22023', q(call scylla.wait_any(array_fill('x'::text, '{65}'), '1 ms')) ],
	[ '22023', q(call scylla.wait_any('{{a,b},{c,null}}', '1 ms')) ],
	[ '00000', q(call scylla.wait_any('{{a,b},{c,d}}', '1 ms')) ],
	[ '22023', q(call scylla.wait('none', '-1 ms')) ],
	[ 'P0002', q(call scylla.wait_plan('none', '1 ms')) ]);

# ---- encodings, collations, styles -----------------------------------------------------------------------------------------------------

# A life of tasks whose names are all made of one name. It comes to the same everywhere.
my $life = <<'SQL';
create function test.life(name text) returns text language plpgsql as $$
declare
    log text[];
begin
    perform scylla.create_queue(name, events => true, retry => '{"initial": "1 mon 2 days 3 hours", "factor": 1, "max": "1 year"}');
    perform scylla.submit(name, to_jsonb(name), rn => name || n, dedup_key => name || n, not_before => case when n = 5 then '2100-01-01 UTC'::timestamptz end)
       from generate_series(1, 6) n;
    log := log || array(select rn from scylla.lease(name, name, 3));
    perform scylla.complete(name || 1, name, to_jsonb(name)), scylla.fail(name || 2, name, jsonb_build_object('code', name)),
            scylla.abort(name || 3, name, jsonb_build_object('code', name));
    log := log || array(select concat_ws(' ', rn, status, owner, result #>> '{}', errors -> 0 ->> 'code', history -> 0 ->> 'worker',
                                      history -> 0 ->> 'time' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}[+]00:00$')
                          from scylla.task where queue = name order by rn collate "C");
    log := log || test.attempt(format('select scylla.submit(%L, ''1'', rn => %L)', name, name || 1));
    log := log || (select not_before - updated = interval '32 days 3 hours' from scylla.task where rn = name || 2)::text;
    log := log || (select extract(epoch from not_before) from scylla.task where rn = name || 5)::text;
    log := log || (position(name in scylla.metrics()) > 0)::text;
    log := log || (select count(*) from scylla.event where queue_name = name)::text;
    log := log || extract(epoch from scylla.cron_next('0 0 29 2 *', '2025-01-01 00:00+00', 'Europe/Berlin'))::text;
    perform scylla.schedule(name, '30 3 * * *', name, '{}', timezone => 'Asia/Kathmandu', starts => '2020-01-01 UTC', planned_key => 'at', catch_up => 'all', grace => null);
    update scylla.schedule set handled = '2020-02-28 UTC', next_run = '2020-02-28 UTC';
    log := log || scylla._run_schedules_at('2020-03-01 12:00 UTC')::text;
    log := log || array(select replace(spec ->> 'at', name, '') from scylla.task t where t.rn like '%/%' and queue = name order by rn collate "C");
    return array_to_string(log, ', ');
end $$;
SQL
my $lived = "NAME1, NAME2, NAME3, NAME1 completed NAME NAME NAME t, NAME2 waiting NAME NAME t, NAME3 aborted NAME NAME NAME t, NAME4 ready, NAME5 waiting, "
  . 'NAME6 ready, 23505, true, 4102444800.000000, true, 12, 1835391600.000000, 2, 2020-02-28T21:45:00Z, 2020-02-29T21:45:00Z';

sub lives
{
	my ($class, $database, $name, $settings, $what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $status = $node->psql($database, "begin; $settings\n;select test.life('$name'); rollback", stdout => \my $out, stderr => \my $err);
	is($out =~ s/\Q$name\E/NAME/gr, $lived, $what) or diag $err;
	$count{$class}++;
}

# Bytes, as the server has them.
my %databases = (
	utf8 => [ "encoding 'UTF8' lc_collate 'C' lc_ctype 'C'", "\xc3\x84rger \xe2\x82\xac" ],
	latin1 => [ "encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'", "\xc4rger \xff" ],
	ascii => [ "encoding 'SQL_ASCII' lc_collate 'C' lc_ctype 'C'", "\xff\xfe\x80 \xc3" ],
	icu => [ "encoding 'UTF8' locale_provider icu icu_locale 'tr' locale 'C.UTF-8'", "\xc4\xb0stanbul I" ],
	eucjp => [ "encoding 'EUC_JP' lc_collate 'C' lc_ctype 'C'", "\xc6\xfc\xcb\xdc" ]);
for my $database (sort keys %databases)
{
	my ($options, $name) = @{ $databases{$database} };
	sql($node, "create database $database template template0 $options");
	sql($node, join(";\n", @nonstandard, "$tools$life"), $database); # is no trouble either
	lives('encodings', $database, $name, '', "a life of tasks in a database $options");
	checked($node, '... and check() finds nothing', $database);
}
expect('encodings', 'latin1', "set client_encoding = 'UTF8'",
	[ '22P05', "select rn from scylla.submit('q', '1', rn => '\xe2\x82\xac')" ],
	[ '22P05|0A000|22P02', q(select rn from scylla.submit('q', '"\u20ac"')) ],
	[ '00000', "select rn from scylla.submit('q', '1', rn => repeat('\xc3\xa4', 200))" ],
	[ '22023', "select rn from scylla.submit('q', '1', rn => repeat('\xc3\xa4', 201))" ]);
expect('encodings', 'ascii', '',
	[ '00000', "select rn from scylla.submit('q', '\"\xff\"', rn => '\xff')" ],
	[ '23505', "select rn from scylla.submit('q', '1', rn => '\xff')" ],
	[ 'P0002', "select scylla.complete('\xfe', '\xff')" ],
	[ '22023', "select rn from scylla.submit('q', '1', rn => repeat('\xff', 201))" ]);

# Names are equal when their bytes are.
expect('collations', 'postgres', '',
	[ '00000', q(create collation test.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)) ],
	[ '00000', q(select rn from scylla.submit('Case' collate test.ci, '1', rn => 'Case' collate test.ci)) ],
	[ '00000', q(select rn from scylla.submit('cASE' collate test.ci, '1', rn => 'cASE' collate test.ci)) ],
	[ 'P0002', q(select scylla.get_task('case' collate test.ci)) ],
	[ '22012', q(select 1 / count(*) from scylla.lease('case' collate test.ci, 'w')) ],
	[ '00000', q(select 1 / count(*) from scylla.lease('Case' collate test.ci, 'w')) ]);

my @settings = map { my $date = $_; map { "set datestyle = '$date'; set intervalstyle = '$_'" } qw(postgres postgres_verbose sql_standard iso_8601) }
  ('ISO, YMD', 'SQL, DMY', 'German', 'Postgres, MDY');
push @settings, map { "set timezone = '$_'" } 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Apia', '<-23>+23:59', 'Africa/Casablanca';
push @settings, "set bytea_output = 'escape'; set extra_float_digits = -15; set xmlbinary = 'hex'", @nonstandard,
  "set transform_null_equals = on; set array_nulls = off; set quote_all_identifiers = on", "set default_transaction_deferrable = on; set row_security = off",
  "set search_path = ''", "set session_replication_role = replica", "set enable_indexscan = off; set enable_seqscan = off; set enable_bitmapscan = off; set jit = on; set jit_above_cost = 0",
  "set work_mem = '64 kB'; set temp_buffers = '800 kB'", "set client_encoding = 'SQL_ASCII'", "set plan_cache_mode = 'force_generic_plan'",
  "set default_table_access_method = 'heap'; set default_tablespace = ''; set default_toast_compression = 'pglz'";
lives('settings', 'utf8', 'plain', $_, $_) for @settings;

$node->stop;
note "$_: $count{$_}" for sort keys %count;
done_testing();

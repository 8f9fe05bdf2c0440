# Every function and procedure of the schema, the internal ones too, called by a role that has USAGE on the schema and EXECUTE on all of
# them, which is what people grant, and no right on any queue but its own. Each argument in turn is null, extreme or of a wrong shape,
# then all at once by chance; those that name something name what belongs to somebody else. The server goes on, nothing is an internal
# error or without end, and nothing changes that the role may not change.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/../t/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "fsync = off\nscylla.schedules = manual\nlog_min_error_statement = panic");
sql($node, <<'SQL');
create extension scylla;
create role attacker login;
create schema test;
grant usage on schema scylla, test to attacker;
grant execute on all routines in schema scylla to attacker;
grant select on scylla.task, scylla.schedules, scylla.queue_settings, scylla.queue_grants, scylla.plan, scylla.plan_task to attacker;

-- What belongs to somebody else.
select scylla.create_queue('theirs', events => true, max_running => 5);
select scylla.submit('theirs', '{}', rn => 'ready', dedup_key => 'd', key => 'k');
select scylla.submit('theirs', '{}', rn => 'waiting', not_before => now() + interval '1 day');
select scylla.submit('theirs', '{}', rn => 'running');
select scylla.lease_task('running', 'w');
select scylla.submit('theirs', '{}', rn => 'completed');
select scylla.lease_task('completed', 'w');
select scylla.complete('completed', 'w', '{"secret": 1}');
select scylla.create_plan('plan', '{}');
select scylla.submit('theirs', '{}', rn => 'planned', plan => 'plan');
select scylla.schedule('schedule', '0 0 1 1 *', 'theirs', '{}');
select scylla.define_job('theirs', 'theirs', '{"chunk_size": 1}'), scylla.mark_fresh('theirs', '{[1,9)}');
select scylla.create_job_template('{"job_type": "theirs", "type": "NoOp"}');
select scylla.create_workflow('{"properties": {"owner": "ann"}, "workflow": {"id": "theirs", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}');
create function test.theirs() returns text language sql as $$
    select string_agg(line, E'\n' order by line) from (
        select to_jsonb(t)::text from scylla.task t where queue = 'theirs'
        union all select to_jsonb(q)::text from scylla.queue q where name = 'theirs'
        union all select to_jsonb(p)::text from scylla.task_plan p where name = 'plan'
        union all select to_jsonb(s)::text from scylla.schedule s where name = 'schedule'
        union all select to_jsonb(d)::text from scylla.job_definition d where name = 'theirs'
        union all select to_jsonb(f)::text from scylla.job_success f join scylla.job_definition d on d.id = f.job where d.name = 'theirs'
        union all select to_jsonb(h)::text from scylla.workflow_head h where id = 'theirs'
        union all select to_jsonb(p)::text from scylla.workflow_properties p where workflow = 'theirs'
        union all select to_jsonb(t)::text from scylla.job_template_text t where job_type = 'theirs'
        union all select to_jsonb(t)::text from scylla.workflow_text t where workflow = 'theirs'
        union all select to_jsonb(e)::text from scylla.event e where queue_name = 'theirs'
        union all select 'objects ' || count(*) || md5(string_agg(pg_describe_object(classid, objid, 0), ',' order by classid, objid))
                  from pg_depend where refclassid = 'pg_extension'::regclass
        union all select 'roles ' || string_agg(rolname, ',' order by rolname) from pg_roles) l (line)
$$;

-- Values by type: expressions.
create table test.value (type regtype, value text);
insert into test.value
select 'text'::regtype, v from unnest(array['null', '''''', 'repeat(''x'', 200)', 'repeat(E''\x01'', 201)', 'repeat(''x'', 1000000)', '''theirs''', '''running''', '''plan''', '''schedule''',
    '''attacker''', '''postgres''', '''public''', '''work''', '''* * * * *''', '''59 seconds''', '''@yearly''', '''UTC''', '''0-0''', '''%s%n''', '''select 1''', '''delete from scylla.queue returning 1''']) v
union all select 'jsonb', v from unnest(array['null', '''null''', '''1''', '''{}''', '''[]''', '''[[]]''', '''{"code": 1}''', '''{"code": "x"}''', '''[{"code": 1}]''', '''{"_typ": "HistoryElided", "count": "x"}''',
    '''[{"queue": "theirs", "spec": 1}]''', '''[{"queue": "mine", "spec": 1, "depends_on": ["running"]}]''', '(select jsonb_agg(1e131071) from generate_series(1, 500))',
    '(select jsonb_agg(jsonb_build_object(''_typ'', ''HistoryElided'', ''code'', ''elided'', ''count'', ''1e400''::numeric)) from generate_series(1, 60))',
    '(select to_jsonb(array_agg(1)) from generate_series(1, 50))', '''{"rate": {"tasks": 1e300, "per": "1 us"}}''', '''{"max_running": 0}''', 'repeat(''['', 5000)::text || repeat('']'', 5000)']) v
union all select 'integer', v from unnest('{null,0,1,-1,-5,127,100000,2147483647,-2147483648}'::text[]) v
union all select 'smallint', v from unnest('{null,0,-1,32767,-32768}'::text[]) v
union all select 'bigint', v from unnest('{null,0,-1,9223372036854775807,-9223372036854775808}'::text[]) v
union all select 'int8multirange', v from unnest(array['null', '''{}''', '''{[1,3),[7,8)}''', '''{(,)}''', '''{[1,)}''', '''{[-9223372036854775808,9223372036854775807)}''', '(select range_agg(int8range(i, i + 1)) from generate_series(1, 100000, 2) i)']) v
union all select 'int8multirange[]', v from unnest(array['null', '''{}''', '''{null}''', 'array[''{}'', ''{(,)}'']::int8multirange[]', 'array[''{[1,3)}'', ''{[2,9)}'']::int8multirange[]']) v
union all select 'timestamptz[]', v from unnest(array['null', '''{}''', '''{null}''', '''{-infinity,infinity}''', '''{2000-01-01}''']) v
union all select 'real', v from unnest('{null,0,''NaN'',''-Infinity''}'::text[]) v
union all select 'double precision', v from unnest('{null,0,-1,''NaN'',''Infinity'',''-Infinity'',1e308,5e-324}'::text[]) v
union all select 'boolean', v from unnest('{null,true,false}'::text[]) v
union all select 'interval', v from unnest('{null,''0'',''-1 s'',''365 days'',''178000000 years'',''-178000000 years'',''2147483647 mons 2147483647 days''}'::text[]) v
union all select 'interval', v from unnest('{''infinity'',''-infinity''}'::text[]) v where current_setting('server_version_num')::int >= 170000
union all select 'timestamptz', v from unnest('{null,''infinity'',''-infinity'',''4713-01-01 00:00:00+00 BC'',''294276-12-31 23:59:59.999999+00'',now()}'::text[]) v
union all select 'text[]', v from unnest(array['null', '''{}''', '''{null}''', '''{{a,b},{c,d}}''', '''[5:6]={a,b}''', '''{running,running}''', 'array_fill(''x''::text, ''{100000}'')']) v
union all select 'bigint[]', v from unnest(array['null', '''{}''', '''{null}''', 'array_fill(9223372036854775807, ''{32}'')']) v
union all select 'integer[]', v from unnest(array['null', '''{}''', '''{null}''', '''{{1},{2}}''', '''{2147483647,-2147483648}''']) v
union all select 'jsonb[]', v from unnest(array['null', '''{}''', '''{null}''', '''{{1,2},{3,4}}''', '''{1,"null"}''']) v
union all select 'scylla.task_status', v from unnest(array['null', '''running''']) v
union all select 'name', v from unnest(array['null', '''nobody''', '''attacker''']) v
union all select 'oid', v from unnest(array['null', '0', '4294967295', '10', '(select oid from pg_roles where rolname = ''attacker'')', '1259']) v
union all select 'regclass', v from unnest(array['null', '0', '''pg_class''']) v
-- Rows that their owner could not have made.
union all select 'scylla.schedule', v from unnest(array['null', 'row(null)::text::scylla.schedule', '(select jsonb_populate_record(null::scylla.schedule, ''{"name": "x", "owner": "postgres", "cron": "* * * * *", "queue": "theirs"}''))']) v;
grant select on test.value to attacker;

-- What an argument is otherwise, by its name: somebody else's.
create table test.usual (name text primary key, value text);
insert into test.usual values ('queue', '''theirs'''), ('queues', '''{theirs}'''), ('rn', '''running'''), ('rns', '''{running}'''), ('worker', '''w'''), ('plan', '''plan'''), ('spec', '''{}'''),
    ('specs', 'array[''1'']::jsonb[]'), ('tasks', '''[{"queue": "theirs", "spec": 1}]'''), ('error', '''{"code": "x"}'''), ('cron', '''* * * * *'''), ('role', '''attacker'''), ('owner', '''attacker'''),
    ('privilege', '''admin'''), ('settings', '''{"paused": true}'''), ('name', '''schedule'''), ('timezone', '''UTC'''), ('timeout', '''100 ms'''), ('count', '1'), ('attempts', '''{1}'''), ('history', '''[]'''), ('force', 'true'), ('job', '''theirs'''), ('workflow', '''theirs'''), ('properties', '''{"step_concurrency": 3}'''), ('definition', '''{"properties": {"owner": "ann"}, "workflow": {"id": "theirs", "steps": [{"step": {"id": "s", "type": "NoOp"}}]}}'''), ('ids', '''{[1,3)}'''), ('items', '''{"n": {"from": 1, "to": 2}}''');

create view test.argument as
select p.oid, p.prokind, a.i, coalesce(p.proargnames[a.i], '') as name, t.type::regtype as type, p.pronargs - p.pronargdefaults < a.i as is_optional,
       coalesce(u.value, (select max(w.value) from test.value w where w.type = t.type and w.value <> 'null'), 'null') as usual
  from pg_proc p cross join generate_series(1, p.pronargs) a(i)
       cross join lateral (select coalesce(p.proallargtypes[a.i], p.proargtypes[a.i - 1])) t(type)
       left join test.usual u on u.name = p.proargnames[a.i]
 where p.pronamespace = 'scylla'::regnamespace and 'internal'::regtype <> all (p.proargtypes);
create function test.call(kind "char", f oid, names text[], vals text[], types regtype[]) returns text language sql as $$
    select format('%s %s(%s)', case kind when 'p' then 'call' else 'select' end, f::regproc,
                  (select string_agg(case when n <> '' then format('%I => (%s)::%s', n, v, t) else format('(%s)::%s', v, t) end, ', ' order by i)
                     from unnest(names, vals, types) with ordinality u (n, v, t, i)));
$$;
select setseed(0.5);
create table test.calls as
-- one argument after the other
select a.oid, test.call(a.prokind, a.oid, array_agg(b.name order by b.i), array_agg(case when a.i = b.i then v.value else b.usual end order by b.i), array_agg(b.type order by b.i)) as call
  from test.argument a join test.argument b using (oid) join test.value v on v.type = a.type
 where a.i = b.i or not b.is_optional
 group by a.oid, a.prokind, a.i, v.value
union
-- all null
select oid, test.call(prokind, oid, array_agg(name order by i), array_agg('null'::text order by i), array_agg(type order by i)) from test.argument group by oid, prokind
union
-- all by chance
select oid, test.call(prokind, oid, array_agg(name order by i), array_agg(value order by i), array_agg(type order by i))
  from (select a.*, n, (select v.value from test.value v where v.type = a.type and n >= 0 order by random() limit 1) as value from test.argument a, generate_series(1, 30) n where a.type in (select type from test.value)) c
 group by oid, prokind, n having count(*) = (select count(*) from test.argument d where d.oid = c.oid)
union
select p.oid, test.call(p.prokind, p.oid, '{}', '{}', '{}') from pg_proc p where p.pronamespace = 'scylla'::regnamespace and p.prokind in ('f', 'p') and p.pronargs = p.pronargdefaults;
SQL

my @functions = split /\n/, sql($node, "select distinct c.oid::regproc::text from test.calls c order by 1");
is(sql($node, "select string_agg(p.oid::regproc::text, ' ') from pg_proc p where pronamespace = 'scylla'::regnamespace and 'internal'::regtype <> all (proargtypes) and prokind <> 'a'
	and not exists (select from test.calls c where c.oid = p.oid) and prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)"), '', 'every function is among them');
my $theirs = sql($node, 'select test.theirs()');

# Each statement is one of its own, so that procedures may commit.
my ($calls, @callable, %codes) = (0);
for my $function (@functions)
{
	my @calls = split /\x01/, $node->safe_psql('postgres', "select replace(call, E'\\n', ' ') from test.calls where oid = '$function'::regproc order by 1", extra_params => [ '-R', "\x01" ]);
	my $waits = $function =~ /^scylla\.wait/; # as long as it is told to
	my $script = "set statement_timeout = '" . ($waits ? '500 ms' : '20 s') . "';\n";
	$script .= "$calls[$_] \\g /dev/null\n\\echo code $_ :SQLSTATE\n" for 0 .. $#calls;
	my ($out, $err) = ('', '');
	my $status = $node->psql('postgres', $script, extra_params => [ '-U', 'attacker' ], stdout => \$out, stderr => \$err, on_error_stop => 0);
	my %got = map { /^code (\d+) (\w{5})$/ ? ($1, $2) : () } split /\n/, $out;
	# Internal errors, timeouts, and no answer: the server, or the session, has gone.
	my @bad = grep { ($got{$_} // 'none') =~ ($waits ? qr/^(XX|58|08|none|22012|53[12])/ : qr/^(XX|57|58|08|none|22012|53[12])/) } 0 .. $#calls;
	is(join("\n", map { ($got{$_} // 'none') . ' ' . substr $calls[$_], 0, 300 } @bad[0 .. ($#bad > 4 ? 4 : $#bad)]), '', "$function stands whatever it is given, " . @calls . ' times');
	$calls += @calls;
	push @callable, $function if $function =~ /^scylla\._/ && grep { $_ eq '00000' } values %got;
	$codes{$_}++ for values %got;
	is(sql($node, 'select test.theirs()'), $theirs, "... and changes nothing of others'") or $theirs = sql($node, 'select test.theirs()');
	last if $status == 2 && !defined sql($node, 'select 1');
}
note "$calls calls: " . join ', ', map { "$_ $codes{$_}" } sort keys %codes;
is("@callable", join(' ', map { "scylla.$_" } qw(_advance _bypassed _check_max_tasks _databases _dot_text _duration _failing_duties _first_in_line _fresh_ranges _heads _history _is_failed _may_role_view _may_view _may_watch _mermaid_text _plan_waits _pool_lines _server_workers _settled _shape_problem _stat_monitor _stat_queues _stat_waits _step_signals _step_times _steps_of)),
	'internal functions can be called by nobody, but those of views, pictures, check() and advance(), which tell nothing of tasks');
cmp_ok($codes{'00000'} // 0, '>', 100, 'some of these calls are good ones');
cmp_ok($codes{'42501'} // 0, '>', 100, 'many are refused for lack of a right');
checked($node, 'check() finds nothing');
unlike(slurp_file($node->logfile), qr/PANIC|was terminated by signal|TRAP/, 'the server has not crashed');
$node->stop;
done_testing();

# Large values: specs, results, metrics and what is made of them go through every call, one by one and many at once; the session has
# its memory back when a call is over, and what is too large for one value is an error that says so, or is left out.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# 100 MB by hand: SCYLLA_TEST_BYTES=100000000
my $bytes = $ENV{SCYLLA_TEST_BYTES} || 4_000_000;

my $node = new_node('main', settings => "fsync = off\nscylla.schedules = manual\nlog_min_error_statement = panic" . ($bytes > 60_000_000 ? "\nscylla.max_value_size = '200 MB'\nscylla.max_result_size = '10 GB'" : ''));
sql($node, <<"SQL");
create extension scylla;
-- Text that cannot be compressed.
create table large (bytes int, value jsonb);
alter table large alter value set storage external;
insert into large select b, to_jsonb((select string_agg(md5(i::text), '') from generate_series(1, b / 32) i)) from unnest('{$bytes,900000,1100000}'::int[]) b;
create function large(bytes int = $bytes) returns jsonb language sql stable as 'select value from large l where l.bytes = \$1';
create function digest(value jsonb) returns text language sql immutable as 'select coalesce(md5(value::text), \$\$none\$\$)';
select scylla.create_queue('watched', events => true);
SQL
my $digest = sql($node, 'select digest(large())');

my $session = $node->background_psql('postgres', timeout => 3600, on_error_stop => 0);
my $pid = $session->query_safe('select pg_backend_pid()');
# Kilobytes that the session has: in the server's memory contexts, and as a process.
sub held { return int($session->query('select sum(total_bytes) from pg_backend_memory_contexts') / 1024) }
sub anonymous { return slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m ? $1 : die 'no RssAnon' }
$session->query_safe(q(select scylla.submit('q', '{}', rn => 'small'); select scylla.lease('q', 'w'); select scylla.complete('small', 'w'); select scylla.get_task('small')));
my ($held, $anonymous) = (held(), anonymous());
my ($calls, $most) = (0, 0);

# A statement in that session gives what is expected, or fails with that SQLSTATE, and leaves no memory behind: less than a
# value. (The caches of tables and plans grow by some megabytes, and the C library keeps up to 64 MB of what it was given back.)
sub gives
{
	my ($name, $sql, $expected) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($got, $state) = $session->query("$sql;\n\\echo state :SQLSTATE") =~ /^(.*?)\n?state (\w{5})\s*$/s;
	is($state eq '00000' ? $got : $state, $expected, $name);
	my ($more, $more_anonymous) = (held() - $held, anonymous() - $anonymous);
	$most = $more_anonymous if $more_anonymous > $most;
	ok($more < 3900 && $more_anonymous < 80 * 1024, '... and leaves no memory behind') or diag "$more kB in contexts, $more_anonymous kB in the process";
	$calls++;
}

# ---- one by one ----------------------------------------------------------------------------------------------------------------------

gives('submit', q(select rn from scylla.submit('watched', large(), rn => 'a')), 'a');
gives('lease', q(select rn, digest(spec) from scylla.lease('watched', 'w')), "a|$digest");
gives('heartbeat', q(select progress, spec is null from scylla.heartbeat('a', 'w', 0.5)), '0.5|t');
gives('yield', q(select status from scylla.yield('a', 'w')), 'ready');
gives('lease_task', q(select rn, digest(spec) from scylla.lease_task('a', 'w')), "a|$digest");
gives('fail with an error of almost 1 MB', q(select status from scylla.fail('a', 'w', jsonb_build_object('code', 'x', 'args', large(900000)), '0')), 'ready');
gives('lease_task again', q(select jsonb_array_length(errors) from scylla.lease_task('a', 'w')), '1');
gives('fail with an error of more', q(select scylla.fail('a', 'w', jsonb_build_object('code', 'x', 'args', large(1100000)))), '22023');
gives('abort with an error of more', q(select scylla.abort('a', 'w', jsonb_build_object('code', 'x', 'args', large(1100000)))), '22023');
gives('complete', q(select digest(result), digest(metrics) from scylla.complete('a', 'w', large(), large())), "$digest|$digest");
gives('get_task', q(select digest(spec), digest(result), digest(metrics) from scylla.get_task('a')), "$digest|$digest|$digest");
gives('the view', q(select digest(spec), digest(result), digest(metrics) from scylla.task where rn = 'a'), "$digest|$digest|$digest");
gives('list_tasks', q(select digest(spec), digest(result) from scylla.list_tasks('watched')), "$digest|$digest");
gives('read_events', q(select count(*) from scylla.read_events()), '7');

# ---- values of gates ------------------------------------------------------------------------------------------------------------------

gives('submit with dependencies', q(select status from scylla.submit('q', '{}', rn => 'b', depends_on => '{a}')), 'ready');
gives('lease with args', q(select rn, digest(args -> 0) from scylla.lease('q', 'w')), "b|$digest");
gives('yield with args', q(select status from scylla.yield('b', 'w')), 'ready');
gives('get_task with args', q(select digest(args -> 0) from scylla.get_task('b')), $digest);
gives('cancel with args', q(select status from scylla.cancel('b')), 'cancelled');

# ---- many at once ---------------------------------------------------------------------------------------------------------------------

my $three = q('{1,2,3}'::int[]);
gives('submit_many', qq(select string_agg(inserted::text, ',' order by rn) from scylla.submit_many(
	jsonb_build_array(jsonb_build_object('queue', 'many', 'rn', 'm1', 'spec', large()), jsonb_build_object('queue', 'many', 'rn', 'm2', 'spec', large()))) ), 'true,true');
gives('submit_bulk', qq(select scylla.submit_bulk('many', array(select large() from unnest($three)), array(select 'n' || i from unnest($three) i order by i))), '3');
gives('lease of many', q(select string_agg(rn || ' ' || (digest(spec) = digest(large())), ',' order by rn) from scylla.lease('many', 'w', 10)), 'm1 true,m2 true,n1 true,n2 true,n3 true');
gives('heartbeat_many', q(select count(*) filter (where held) from scylla.heartbeat_many('{m1,m2,n1,n2,n3}', 'w')), '5');
gives('complete_many', qq(select string_agg(completed::text, ',' order by rn) from scylla.complete_many('{n1,n2,n3}', 'w', array(select large() from unnest($three)))), 'true,true,true');
gives('complete_and_lease', q(select count(*) from scylla.complete_and_lease('{m1,m2}', 'w', 'many', 5, results => array[large(), large()])), '0');
gives('their results', q(select count(*) from scylla.task where queue = 'many' and digest(result) = digest(large())), '5');

# ---- plans and schedules ----------------------------------------------------------------------------------------------------------------

gives('create_plan', q(select scylla.create_plan('p', large())), 'p');
gives('a task of the plan', q(select rn from scylla.submit('q', large(), rn => 'c', plan => 'p')), 'c');
gives('open_plan', q(select scylla.open_plan('p')), '');
gives('plan_tree', q(select count(*) > 0 from scylla.plan_task where plan = 'p'), 't');
gives('cancel_plan', q(select scylla.cancel_plan('p')), '1');
gives('schedule', q(select scylla.schedule('s', '* * * * *', 'q', large()) is not null), 't');
gives('run_schedules', q(update scylla.schedule set handled = date_trunc('minute', now()) - interval '1 min', next_run = date_trunc('minute', now()); select scylla.run_schedules() > 0), 't');
gives('unschedule', q(select scylla.unschedule('s')), '');

# ---- too much for one value ---------------------------------------------------------------------------------------------------------------

my $limit = 256 * 1024 * 1024; # of a text in jsonb, and of an array
gives('a spec whose text is larger than a value may be', q(select scylla.submit('q', to_jsonb(repeat(E'\x01', 190000000)))), '22023');
gives('a spec of small numbers, which take more in the table than as text', q(select scylla.submit('q', jsonb_build_array(a, a)) from (select ('[' || repeat('1,', 9000000) || '1]')::jsonb) t (a)), '22023');
gives('a spec that jsonb cannot hold', "select scylla.submit('q', to_jsonb(repeat('x', $limit)))", '54000');
SKIP:
{
	skip 'only where values are large', 6 unless 6 * $bytes > $limit;
	gives('a result that jsonb cannot hold', "select scylla.complete('a', 'w', to_jsonb(repeat('x', $limit)))", '54000');
	gives('tasks that jsonb cannot hold', q(select scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'q', 'spec', large())) from generate_series(1, 6)))), '54000');
	gives('results that an array cannot hold', q(select scylla.complete_many(array(select 'x' || i from generate_series(1, 20) i), 'w', array(select large() from generate_series(1, 20)))), '54000');
}

# ---- the end ------------------------------------------------------------------------------------------------------------------------------

gives('drop_queue', q(select scylla.drop_queue('q', force => true) is not null), 't');
gives('purge', q(update scylla.task_outcome set finished = now() - interval '30 days'; update scylla.task_spec set created = now() - interval '31 days';
	update scylla.task_plan set created = now() - interval '31 days', finished = now() - interval '30 days'; select scylla.purge() > 0), 't');
note "$calls calls with values of $bytes bytes: at most $most kB more in the session";
$session->quit;
checked($node, 'check() finds nothing');
$node->stop;
done_testing();

# A disk that is full in the middle of the work: of the tables, of temporary files, and of the WAL (test/faults/no_space.c says how).
# Calls fail with 53100 and have done nothing, what was acknowledged stays, and everything goes on when there is space again.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $library = $ENV{SCYLLA_NO_SPACE} or die 'SCYLLA_NO_SPACE is not set: ./test/run makes the library';
my $switch = $ENV{SCYLLA_NO_SPACE_SWITCH} = PostgreSQL::Test::Utils::tempdir . '/full';
$ENV{LD_PRELOAD} = $library;
my $node = new_node('main', extra => [ '--wal-segsize=1' ],
	settings => "autovacuum = off\nrestart_after_crash = off\nscylla.monitor_interval = '50 ms'");

# What has this in its path has no space left; nothing: all have.
sub full
{
	my ($part) = @_;
	unlink $switch;
	append_to_file($switch, $part) if $part;
}

sql($node, q(create extension scylla));
sql($node, <<'SQL');
-- Calls again and again, a transaction each, until one fails.
create procedure until_full(call text, inout done int, inout code text, inout message text) language plpgsql as $$
begin
    done := 0;
    while code is null and done < 100000 loop
        begin
            execute call;
            done := done + 1;
        exception when others then
            code := sqlstate;
            message := sqlerrm;
        end;
        commit;
    end loop;
end $$;
-- One task of those that a worker holds.
create function held(worker text) returns text language sql as $$
    select s.rn from scylla.task_lease l join scylla.task_spec s using (id) where l.owner = worker order by s.id limit 1
$$;
SQL

sub count_of { sql($node, "select count(*) from scylla.$_[0]") }

# ---- the tables ------------------------------------------------------------------------------------------------------------------

# Since PostgreSQL 19 whoever reads may note which pages all can see: the tables get the files for it while there is space.
sql($node, q(
	select scylla.submit('old', '{}') from generate_series(1, 10);
	select scylla.complete(rn, 'w') from scylla.lease('old', 'w', 10);
	select scylla.submit('q', '{}', rn => r) from unnest('{held,ready}'::text[]) r;
	select scylla.submit('q', '{}', not_before => 'tomorrow');
	select scylla.lease_task('held', 'w');
	vacuum;
	update scylla.task_outcome set finished = now() - interval '30 days';
	update scylla.task_spec set created = now() - interval '31 days';
	select scylla.submit_bulk('q', array(select '{}'::jsonb from generate_series(1, 3000)));
	select count(*) from unnest('{completes,aborts,yields,fails,heartbeats,expires}'::text[]) worker, scylla.lease('q', worker, 300);
	update scylla.task_lease set deadline = now() - interval '1 s' where owner = 'expires';
	checkpoint));
# Pages that hold old versions have no room: nobody may clear them now.
my $snapshot = $node->background_psql('postgres');
$snapshot->query_safe('begin isolation level repeatable read; select 1');
full('/base/');

# What is called until it fails, the table that grows with it, and by how many rows.
for ([ "scylla.submit('q', jsonb_build_object('text', repeat(md5(random()::text), 20)))", 'task_spec', 1 ],
	[ "scylla.submit_many('[{\"queue\": \"q\", \"spec\": 1}, {\"queue\": \"q\", \"spec\": 2, \"not_before\": \"2100-01-01\"}]')", 'task_spec', 2 ],
	[ "scylla.submit_bulk('q', array_fill('{}'::jsonb, '{500}'))", 'task_spec', 500 ],
	[ "scylla.submit('q', '{}', not_before => 'tomorrow')", 'task_waiting', 1 ],
	[ "scylla.lease('q', 'w')", 'task_lease', 1 ],
	[ "scylla.lease('q', 'w', 700)", 'task_lease', 700 ],
	[ "scylla.complete(held('completes'), 'completes')", 'task_outcome', 1 ],
	[ "scylla.complete_many(array(select rn from scylla.list_tasks('q', 'running', 'completes')), 'completes')", 'task_outcome', 300 ],
	[ "scylla.abort(held('aborts'), 'aborts', '{\"code\": \"x\"}')", 'task_outcome', 1 ],
	[ "scylla.fail(held('fails'), 'fails', '{\"code\": \"x\"}')", 'task_waiting', 1 ],
	[ "scylla.yield(held('yields'), 'yields')", 'task_ready', 1 ],
	[ "scylla.cancel(rn) from scylla.list_tasks('q', 'ready', max_tasks => 400)", 'task_outcome', 400 ],
	[ "scylla.heartbeat(held('heartbeats'), 'heartbeats')", 'task_lease', 0 ])
{
	my ($call, $table, $rows) = @$_;
	my $before = count_of($table);
	my ($done, $code, $message) = split /\|/, sql($node, "call until_full(\$call\$select $call\$call\$, null, null, null)");
	is($code, '53100', "$call: fails when the disk is full (after $done)");
	like($message, qr/could not extend file "base.*No space left on device/, '... and says why');
	is(count_of($table), $before + $done * $rows, '... what was done is there, and nothing of what failed');
}
checked($node, 'check() finds nothing while the disk is full');
is(sql($node, 'select scylla.purge()'), 10, 'old tasks can be removed: that takes no space');

# The monitor has the same trouble.
$node->append_conf('postgresql.conf', 'scylla.monitor = on');
$node->reload;
eventually($node, q(select errors > 0 and last_error like '%No space left on device%' from scylla.stat_monitor), 't', 'the monitor says what ails it');
is(count_of("task_lease where owner = 'expires'"), 300, '... and has left nothing half done');
checked($node, '... as check() finds');

full('');
$snapshot->quit;
eventually($node, q(select count(*) from scylla.task_lease where owner = 'expires'), '0', 'there is space again: the monitor goes on');
sql($node, "select scylla.$_") for ("submit('q', '{}')", "heartbeat(held('heartbeats'), 'heartbeats')", "yield(held('yields'), 'yields')",
	"complete(held('completes'), 'completes')");
pass('... and so does everybody else');
sql($node, q(
	select count(*) from scylla.task_lease l, scylla.task_spec s, scylla.yield(s.rn, l.owner) where s.id = l.id;
	select count(*) from scylla.lease('q', 'last', 100000) l, scylla.complete(l.rn, 'last')));
eventually($node, q(
	select count(*) from scylla.lease('q', 'last', 100000) l, scylla.complete(l.rn, 'last');
	select count(*) from scylla.task where status in ('ready', 'running')) =~ s/^\s+//r, "0\n0", 'all that is left gets done');
checked($node, 'check() finds nothing');

# ---- temporary files --------------------------------------------------------------------------------------------------------------

sql($node, q(select scylla.submit_bulk('big', array(select to_jsonb(repeat(md5(n::text), 300)) from generate_series(1, 100) n))));
full('/pgsql_tmp/');
my ($out, $err) = result_of($node, q(set work_mem = '64 kB'; select count(spec) from scylla.lease('big', 'w', 100)));
like("$out$err", qr/53100/, 'a lease with more content than memory fails where temporary files have no space');
is(sql($node, q(select status, count(*) from scylla.task where queue = 'big' group by 1)), 'ready|100', '... and nothing is leased');
full('');
is(sql($node, q(set work_mem = '64 kB'; select count(spec) from scylla.lease('big', 'w', 100))), '100', '... until they have');
checked($node, 'check() finds nothing');

# ---- the WAL -----------------------------------------------------------------------------------------------------------------------

# The server cannot go on without, and stops. What a client has been told of is there when it comes back.
my $script = PostgreSQL::Test::Utils::tempdir . '/script.sql';
append_to_file($script, q(select rn from scylla.submit('wal', to_jsonb(repeat(md5(random()::text), 60)));
select rn from scylla.lease('wal', 'w') \gset
select 'completed ' || rn from scylla.complete(:'rn', 'w');
) x 20000);
full('/pg_wal/');
IPC::Run::run([ 'psql', '-XqAt', '-d', $node->connstr('postgres'), '-f', $script ], '>', \my $told, '2>', \$err);
like($err, qr/server closed the connection|terminating connection/, 'where the WAL has no space the server stops');
like(slurp_file($node->logfile), qr/PANIC: .*No space left on device/, '... and says why');
my @told = split /\n/, $told;
# The postmaster is on its way out.
my $pid_file = $node->data_dir . '/postmaster.pid';
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default) { last if !-e $pid_file; select undef, undef, undef, 0.1 }
ok(!-e $pid_file, '... altogether');
$node->_update_pid(0);
# That was to be; ./test/asserts looks through the logs for others.
my $log = slurp_file($node->logfile);
$log =~ s/PANIC(?=: .*No space left on device)/expected/;
$log =~ s/was terminated by signal 6/was expected to end by signal 6/;
unlink $node->logfile;
append_to_file($node->logfile, $log);
full('');
$node->start;
my %status = map { split /\|/ } split /\n/, sql($node, q(select rn, status from scylla.task where queue = 'wal'));
my @submitted = grep { /^\S+$/ } @told;
my @completed = map { /^completed (.*)/ } @told;
cmp_ok(@completed, '>', 10, 'many were completed (' . @completed . ')');
is(join(' ', grep { !$status{$_} } @submitted), '', 'every acknowledged task is there');
is(join(' ', grep { $status{$_} ne 'completed' } @completed), '', 'every acknowledged complete has stayed');
is(sql($node, q(select status from scylla.submit('wal', '{}'))), 'ready', 'everything goes on');
checked($node, 'check() finds nothing');
$node->stop;
done_testing();

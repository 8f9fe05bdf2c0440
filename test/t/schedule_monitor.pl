# Schedules without pg_cron: the monitor runs them, at their time, as the roles that made them, and whatever else somebody does.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;
use Time::HiRes qw(time);

# The interval is long: whatever happens sooner than that was not found by a poll.
my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = '1 h'\nmax_connections = 40\nrestart_after_crash = on");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres', 'there is a monitor');
is(sql($node, 'show scylla.schedules'), 'auto', 'scylla.schedules is auto');

my $late = q(extract(epoch from updated - split_part(rn, '/', -1)::timestamptz) * 1000);
sub lateness
{
	my ($queue) = @_;
	return sql($node, qq(select round(percentile_disc(0.5) within group (order by l)::numeric, 1), round(max(l)::numeric, 1), count(*), min(l) >= 0
		from (select $late as l from scylla.task where queue = '$queue') t));
}

# ---- punctuality --------------------------------------------------------------------------------------------------------

is(sql($node, 'select ticked from scylla.schedules'), '', 'there is no schedule, and so no tick');
sql($node, q(select scylla.schedule('often', '1 second', 'often', '{}', planned_key => 'planned', catch_up => 'all')));
eventually($node, q(select count(*) >= 5 from scylla.task where queue = 'often' and status = 'ready'), 't', 'a schedule comes without any call');
my ($median, $max, $count, $not_early) = split /\|/, lateness('often');
is($not_early, 't', '... not too early');
cmp_ok($median, '<', 200, "... and in time: median $median ms, at most $max ms of $count");
is(sql($node, q(select missed, skipped, last_error is null, ticked > now() - interval '2 min' from scylla.schedules)), '0|0|t|t', '... without a gap');
# Another one, in between: the commit tells the monitor that now sleeps for a later time.
sql($node, q(select scylla.unschedule('often'); select scylla.schedule('yearly', '@yearly', 'q', '1')));
sql($node, q(select scylla.schedule('new', '1 second', 'new', '1')));
eventually($node, q(select count(*) >= 2 from scylla.task where queue = 'new'), 't', 'an earlier schedule is noticed at its commit');
sql($node, q(select scylla.unschedule('new')));
checked($node, 'check() finds nothing');

# ---- many schedules of one role -------------------------------------------------------------------------------------------

sql($node, q(
	create role many; create role few;
	select scylla.create_queue('turns'), scylla.grant_queue('turns', 'public', 'submit');
	grant usage on schema scylla to many, few; grant execute on function scylla.schedule, scylla.submit_many to many, few;
	set role many; select count(scylla.schedule('many' || i, '@yearly', 'turns', '1', grace => null)) from generate_series(1, 500) i;
	set role few; select scylla.schedule('few', '@yearly', 'turns', '1', grace => null);
	reset role;
	update scylla.schedule set handled = now() - interval '2 years', next_run = now() - case when name = 'few' then interval '1 min' else interval '1 hour' end where name ~ '^(many|few)';
	select scylla.schedule('wakes the monitor', '@yearly', 'turns', '1');));
eventually($node, q(select count(*) from scylla.task where queue = 'turns'), 501, 'a role has 500 schedules that are due, another has one that is due later');
cmp_ok(sql($node, q(select count(*) from scylla.task_spec s, scylla.task_spec f where s.rn ~ '^many' and f.rn ~ '^few/' and s.id < f.id)), '<', 5,
	'... as soon as those: owners take turns');
sql($node, q(select scylla.unschedule(name) from scylla.schedules where name ~ '^(many|few|wakes)'));

# ---- as its role --------------------------------------------------------------------------------------------------------

sql($node, q(
	create role app_role;
	select scylla.create_queue('mine');
	select scylla.grant_queue('mine', 'app_role', 'submit');
	grant usage on schema scylla to app_role;
	grant execute on function scylla.schedule, scylla.unschedule, scylla.submit_many, scylla.cancel, scylla.run_schedules to app_role;
	set role app_role;
	select scylla.schedule('theirs', '1 second', 'mine', '1', overlap => 'replace');));
eventually($node, q(select runs > 1 from scylla.schedules where name = 'theirs'), 't', 'tasks are submitted, and replaced, for a role');
sql($node, q(select scylla.revoke_queue('mine', 'app_role', 'submit')));
eventually($node, q(select last_error from scylla.schedules where name = 'theirs'),
	'42501: permission denied for queue "mine"', 'the rights of the role count when it is due');
sql($node, q(select scylla.grant_queue('mine', 'app_role', 'submit'); revoke usage on schema scylla from app_role));
eventually($node, q(select last_error from scylla.schedules where name = 'theirs'),
	'42501: permission denied for schema scylla', 'all of them');
my $wait = sql($node, q(select retry_at - failed from scylla.schedule where name = 'theirs'));
like($wait, qr/^00:0/, "what fails is tried again later and later: after $wait");
sql($node, q(grant usage on schema scylla to app_role));
eventually($node, q(select last_error is null from scylla.schedules where name = 'theirs'), 't', '... and runs when it can');
is(sql($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor')), '1', 'the monitor has lived through it');
unlike(slurp_file($node->logfile), qr/background worker "scylla monitor" .* exited with exit code/, '... all the time');
sql($node, q(select scylla.unschedule('theirs')));

# ---- one schedule never delays another ---------------------------------------------------------------------------------

# Somebody has left the names that ten schedules will use uncommitted, and sits there.
my $holder = $node->background_psql('postgres');
sql($node, q(select count(scylla.create_queue('held')), count(scylla.create_queue('free'))));
my $names = q(select scylla.submit('held', '"mine"', rn => format('held %s/%s', n, to_char(date_trunc('second', clock_timestamp() at time zone 'UTC') + s * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')))
	from generate_series(1, 10) n, generate_series(2, 8) s);
$holder->query_safe("begin; $names");
sql($node, q(select count(scylla.schedule('held ' || n, '1 second', 'held', '1', catch_up => 'all')), count(scylla.schedule('free ' || n, '1 second', 'free', '1', catch_up => 'all'))
	from generate_series(1, 10) n));
eventually($node, q(select count(*) from scylla.schedules where name like 'held %' and last_error ~ '^55P03'), '10', 'ten schedules find their names taken by somebody who has not committed');
eventually($node, q(select bool_and(runs >= 5) from scylla.schedules where name like 'free %'), 't', '... and ten others run');
is(sql($node, q(select sum(missed) from scylla.schedules where name like 'free %')), '0', '... each time');
($median, $max, $count, $not_early) = split /\|/, lateness('free');
cmp_ok($median, '<', 500, "... in time: median $median ms, at most $max ms of $count");
sql($node, q(select scylla.submit('leases', '1', rn => 'lease'); select scylla.lease('leases', 'w', timeout => '100 ms')));
eventually($node, q(select status from scylla.task where rn = 'lease'), 'ready', '... and leases expire');
$holder->query_safe('rollback');
$holder->quit;
eventually($node, q(select bool_and(last_error is null and runs > 0) and sum(missed) = 0 from scylla.schedules where name like 'held %'), 't', 'when that is rolled back the ten catch up');

# Somebody has run schedules and has not committed: it is his own that stand still.
my $mine = $node->background_psql('postgres');
sql($node, q(
	select count(scylla.unschedule(name)) from scylla.schedules where name like 'held %';
	set role app_role;
	select scylla.schedule('theirs', '1 second', 'mine', '1');));
$mine->query_safe('set role app_role; begin');
my $submitted = 0;
$submitted = $mine->query_safe('select scylla.run_schedules()') for 1 .. 3;
my $before = sql($node, q(select min(runs) from scylla.schedules where name like 'free %'));
eventually($node, "select min(runs) > $before + 2 from scylla.schedules where name like 'free %'", 't', 'an open transaction that has run schedules keeps those of others from nothing');
$mine->query_safe('rollback');
$mine->quit;
sql($node, q(select count(scylla.unschedule(name)) from scylla.schedules));

# A planned time whose name is somebody else's: it shows, and the next one comes.
my $next = sql($node, q(select to_char(clock_timestamp() at time zone 'UTC' + interval '2 s', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')));
sql($node, qq(select scylla.submit('q', '"mine"', rn => 'squatted/$next'); select scylla.schedule('squatted', '1 second', 'squatted', '1', catch_up => 'all')));
eventually($node, q(select missed from scylla.schedules where name = 'squatted'), '1', 'a planned time whose name is taken is missed');
eventually($node, qq(select count(*) > 0 from scylla.task where queue = 'squatted' and rn > 'squatted/$next'), 't', '... the next one comes');
like(slurp_file($node->logfile), qr/WARNING:  schedule "squatted" could not submit its task: task "squatted\/\Q$next\E" already exists/, '... and the log tells');
sql($node, q(select scylla.unschedule('squatted')));

# ---- several that tick ------------------------------------------------------------------------------------------------------

sql($node, q(select count(scylla.schedule('both ' || n, '1 second', 'both', '1', catch_up => 'all')) from generate_series(1, 20) n));
my $end = time + 4;
my $by_hand = 0;
$by_hand += sql($node, 'select scylla.run_schedules()') while time < $end;
eventually($node, q(select min(runs) >= 4 from scylla.schedules), 't', "the monitor and calls ($by_hand tasks by calls) run the same schedules");
sql($node, q(select count(scylla.unschedule(name)) from scylla.schedules));
is(sql($node, q(select count(*) - count(distinct rn) from scylla.task where queue = 'both')), '0', '... each planned time has one task');
# Who waits too long for somebody else's transaction comes again.
unlike(slurp_file($node->logfile), qr/both \d+" could not submit its task: (?!canceling statement due to lock timeout)/, '... and nobody has tried to give it a second');

# ---- the switch -----------------------------------------------------------------------------------------------------------

for my $mode (qw(manual off pg_cron))
{
	$node->append_conf('postgresql.conf', "scylla.schedules = $mode");
	$node->reload;
	eventually($node, 'show scylla.schedules', $mode, "scylla.schedules is $mode");
	sql($node, q(set scylla.schedules = manual; select scylla.schedule('s', '1 second', 'off', '1', catch_up => 'all', grace => '1 h')));
	my $at = sql($node, q(update scylla.schedule set next_run = date_trunc('second', now()) - interval '3 s', handled = now() - interval '4 s' returning name));
	sql($node, q(call scylla.wait('nothing', '1500 ms')));
	is(sql($node, q(select runs, ticked < clock_timestamp() from scylla.schedules)), '0|t', '... then the monitor leaves schedules alone');
	sql($node, q(set scylla.schedules = manual; select scylla.unschedule('s')));
}
$node->append_conf('postgresql.conf', 'scylla.schedules = auto');
$node->reload;
eventually($node, 'show scylla.schedules', 'auto', 'scylla.schedules is auto again');
sql($node, q(select scylla.schedule('s', '1 second', 'again', '1', catch_up => 'all', grace => '1 h')));
eventually($node, q(select runs > 1 from scylla.schedules), 't', '... and it runs');

# ---- crash ----------------------------------------------------------------------------------------------------------------

$node->stop('immediate');
$node->start;
eventually($node, q(select max(updated) > pg_postmaster_start_time() from scylla.task where queue = 'again'), 't', 'it goes on after a crash');
eventually($node, q(select count(*) = max(r) from (select rank() over (order by rn) r,
	split_part(rn, '/', -1)::timestamptz - lag(split_part(rn, '/', -1)::timestamptz) over (order by rn) as gap from scylla.task where queue = 'again') g
	having max(gap) = '1 s'), 't', '... and catches up');
is(sql($node, q(select missed, last_error is null from scylla.schedules)), '0|t', '... without a gap or an error');

# ---- many -----------------------------------------------------------------------------------------------------------------

sql($node, q(select scylla.unschedule('s'); select count(scylla.schedule('many ' || n, '2 seconds', 'many', '1')) from generate_series(1, 500) n));
eventually($node, q(select min(runs) >= 2 from scylla.schedules), 't', '500 schedules of two seconds run');
($median, $max, $count, $not_early) = split /\|/, lateness('many');
cmp_ok($median, '<', 1500, "... in time: median $median ms, at most $max ms of $count");
sql($node, q(select scylla.submit('leases', '1', rn => 'another'); select scylla.lease_task('another', 'w', timeout => '100 ms')));
eventually($node, q(select status from scylla.task where rn = 'another'), 'ready', '... and leases expire meanwhile');
sql($node, q(select count(scylla.unschedule(name)) from scylla.schedules));
checked($node, 'check() finds nothing');

$node->stop;
done_testing();

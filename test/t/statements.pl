# Steps of type Sql in server workers: their statements run as the owner of the queue, in transactions with the end of their tasks, and
# end with their steps.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('statements', settings => "scylla.monitor = on\nscylla.max_server_workers = 2");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q(
	create role ada login;
	create role eve login;
	grant usage on schema scylla to ada, eve;
	grant execute on all functions in schema scylla to ada, eve;
	create table done (who name, session name, n int unique deferrable initially deferred);
	grant all on done to ada;
	create function make(id text, statement text) returns int language sql as $$
		select scylla.create_workflow(jsonb_build_object('properties', '{"owner": "ada", "run_strategy": "parallel"}'::jsonb, 'workflow', jsonb_build_object('id', id, 'steps',
			jsonb_build_array(jsonb_build_object('step', jsonb_build_object('id', 's', 'type', 'Sql', 'sql', statement,
				'params', '{"queue": {"type": "STRING", "value": "of_ada"}, "n": {"type": "LONG", "value": 0}}'::jsonb,
				'retry_policy', '{"error_retry_limit": 0, "platform_retry_limit": 0}'::jsonb))))))
	$$;
));
sql_as($node, 'ada', q(select scylla.create_queue('of_ada', handler => 'scylla.run_sql')));
sql($node, q(select scylla.grant_queue('of_ada', 'eve', 'submit')));

sub sql_as
{
	my ($server, $role, $statement) = @_;
	return $server->safe_psql('postgres', $statement, extra_params => [ '-U', $role ]);
}
# Starts a run as a role that has made the workflow, and waits for its end. Returns its status, and that of the step, with what it has put out or its error.
sub outcome
{
	my ($role, $id, $statement) = @_;
	sql_as($node, $role, "select make('$id', \$sql\$$statement\$sql\$); select scylla.start_workflow('$id')");
	sql($node, "call scylla.wait_plan('workflow:$id/1/1', '60 s')");
	return sql($node, "select r.status, s.status, s.params -> 'n', coalesce(s.error ->> 'code', s.error::text) from scylla.workflow_run r join scylla.workflow_step s using (workflow, instance) where workflow = '$id'");
}

is(outcome('ada', 'works', q(insert into done values (current_user, session_user, 1) returning 5 as n)), 'SUCCEEDED|SUCCEEDED|5|', 'a server worker runs the statement of a step');
is(sql($node, 'select who, session from done'), 'ada|ada', 'as the owner of the queue');
is(outcome('ada', 'at_commit', q(insert into done values (current_user, session_user, 1))), 'FAILED|FATALLY_FAILED|0|sqlstate-23505', 'an error at the commit fails the step');
is(outcome('eve', 'theirs', q(insert into done values (current_user, session_user, 2))), 'FAILED|FATALLY_FAILED|0|sqlstate-42501', 'the statement of a role that could not become it does not run');
is(outcome('ada', 'climbs', q(set role postgres)), 'FAILED|FATALLY_FAILED|0|sqlstate-42501', 'a statement gets no further than its role');
is(outcome('ada', 'changes', q(set search_path = nowhere; create temp table pg_temp.t (); prepare p as select 1)), 'SUCCEEDED|SUCCEEDED|0|', 'what it does to its session');
is(outcome('ada', 'after', q(select count(*) as n from pg_class where relname = 't' and relpersistence = 't')), 'SUCCEEDED|SUCCEEDED|0|', 'does not meet the next one');

sql_as($node, 'ada', q(select make('sleeps', 'select pg_sleep(1000)'); select scylla.start_workflow('sleeps')));
$node->poll_query_until('postgres', q(select count(*) = 1 from pg_stat_activity where wait_event = 'PgSleep')) or die 'no statement runs';
sql($node, q(select scylla.kill_step('sleeps', 1, 's')));
sql($node, q(call scylla.wait_plan('workflow:sleeps/1/1', '60 s')));
is(sql($node, q(select status from scylla.workflow_step where workflow = 'sleeps')), 'FATALLY_FAILED', 'a step that is killed');
ok($node->poll_query_until('postgres', q(select count(*) = 0 from pg_stat_activity where wait_event = 'PgSleep')), 'ends its statement');
is(sql($node, 'select count(*) from done'), '1', 'nothing else was done');
$node->stop;
done_testing();

# DROP EXTENSION leaves nothing: no object, no right, no dependency, no process, and nothing in shared memory that a new
# installation could meet.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.monitor = on\nscylla.schedules = manual");
sql($node, 'create role app login; create database used');

# Everything in the catalogs that could be ours, by number; and what there is in schemas, by name.
sub catalogs
{
	my @count = map { "select '$_', count(*)::text from pg_catalog.$_" }
	  qw(pg_class pg_attribute pg_attrdef pg_index pg_proc pg_type pg_enum pg_namespace pg_constraint pg_trigger pg_rewrite pg_policy
	  pg_operator pg_opclass pg_cast pg_extension pg_depend pg_shdepend pg_description pg_init_privs pg_default_acl pg_seclabel
	  pg_sequence pg_event_trigger pg_publication pg_statistic_ext pg_db_role_setting pg_auth_members);
	my $named = q(select 'relation', oid::regclass::text from pg_class where relnamespace <> 'pg_toast'::regnamespace
		union all select 'function', oid::regprocedure::text from pg_proc union all select 'type', oid::regtype::text from pg_type
		where typnamespace <> 'pg_toast'::regnamespace
		union all select 'schema', nspname || coalesce(nspacl::text, '') from pg_namespace);
	return sql($node, join(' union all ', @count, $named) . ' order by 1, 2', 'used');
}
my $before = catalogs();

sub install_and_use
{
	fill($node, 'used');
	sql($node, <<'SQL', 'used');
select scylla.create_plan('plan');
select scylla.submit('q', '1', rn => 'first', plan => 'plan');
select scylla.submit('q', '1', rn => 'second', plan => 'plan', depends_on => '{first}');
select scylla.open_plan('plan');
select scylla.submit('limited', '1', dedup_key => 'key');
select scylla.alter_queue('limited', '{"max_running": 1}');
select scylla.grant_queue('q', 'app', 'submit');
select scylla.schedule('nightly', '0 3 * * *', 'q', '1');
grant usage on schema scylla to app;
grant select on scylla.task to app;
grant execute on function scylla.cancel to app;
SQL
}
install_and_use();
wait_for_monitor($node, 'used');
isnt(catalogs(), $before, 'the extension has objects, rights and dependencies');
cmp_ok(sql($node, q(select sum(submitted) from scylla.stat_queue), 'used'), '>', 0, '... and counters');

# Sessions that have worked, and one that waits, are there when it goes.
my $worker = $node->background_psql('used', on_error_stop => 0);
is($worker->query_safe(q(select count(*) from scylla.lease('q', 'w'))), '1', 'a session works');
my $waiter = $node->background_psql('used', on_error_stop => 0);
my $pid = $waiter->query_safe('select pg_backend_pid()');
$waiter->query_until(qr/^begun$/m, "\\set VERBOSITY sqlstate\n\\echo begun\ncall scylla.wait('empty', '1 h');\n\\echo ended :SQLSTATE\n");
eventually($node, "select wait_event from pg_stat_activity where pid = $pid", 'Extension', 'another one waits');

is(sqlstate($node, 'drop extension scylla', 'used'), '', 'DROP EXTENSION');
is(catalogs(), $before, '... leaves no object, no right and no dependency');
eventually($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor'), '0', '... the monitor goes');
$worker->query(q(select count(*) from scylla.lease('q', 'w')));
like($worker->{stderr}, qr/schema "scylla" does not exist/, '... who has worked gets an error');
sql($node, "select pg_cancel_backend($pid)");
like($waiter->query_until(qr/^ended \w{5}$/m, ''), qr/^ended 57014$/m, '... who waits can be cancelled');
$_->{stderr} = '' for $worker, $waiter;
is($waiter->query_safe('select 1'), '1', '... and its session goes on');

# What comes after it begins afresh.
sql($node, 'create extension scylla', 'used');
is(sql($node, q(select count(*) from scylla.stat_queue), 'used'), '0', 'a new installation has no counters');
is(sql($node, q(select scylla.create_queue('q'); select count(*) from scylla.lease('q', 'w')), 'used'), "\n0", '... and no tasks');
is(sql($node, q(select submitted, leased from scylla.stat_queue), 'used'), '0|0', '... a queue with the same id counts from nothing');
sql($node, q(select scylla.submit('q', '1', rn => 'new')), 'used');
is($worker->query_safe(q(select rn, attempt from scylla.lease('q', 'w'))), 'new|1', '... a session from before leases from it');
wait_for_monitor($node, 'used', '... it has its monitor');
checked($node, '... and nothing is inconsistent', 'used');
$_->quit for $worker, $waiter;

# Again and again, also in a transaction that is rolled back.
sql($node, 'drop extension scylla', 'used');
for my $round (1 .. 5)
{
	install_and_use();
	sql($node, 'begin; drop extension scylla; rollback', 'used');
	is(sql($node, q(select count(*) > 0 from scylla.task), 'used'), 't', 'a removal that is rolled back removes nothing');
	checked($node, '... nor anything in memory', 'used');
	sql($node, 'create view built_on_it as select rn from scylla.task', 'used');
	is(sqlstate($node, 'drop extension scylla', 'used'), '2BP01', 'what builds on it has to go first');
	sql($node, 'set client_min_messages = warning; drop extension scylla cascade', 'used');
	is(catalogs(), $before, "removal $round leaves nothing");
}
eventually($node, q(select count(*) from pg_stat_activity where backend_type = 'scylla monitor'), '0', 'no monitor is left');
unlike(slurp_file($node->logfile), qr/PANIC|\] (?:ERROR|FATAL)|exited with exit code [^01]/, 'no monitor has failed');
$node->stop;

done_testing();

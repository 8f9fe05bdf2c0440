# Heartbeats: while a long transaction holds back vacuum, every heartbeat leaves a version of the lease behind, and none of them
# makes the next one slower. Costs are counted in pages, not in time.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

# A page or two may be full, an index a level higher.
use constant A_FEW => 15;

my $node = new_node('main', settings => 'autovacuum = off');
sql($node, <<'SQL');
create extension scylla;
create function pages(statement text) returns int language plpgsql as $$
declare
	plan json;
begin
	execute 'explain (analyze, buffers, timing off, format json) ' || statement into plan;
	return (plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::int + (plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::int;
end $$;
create procedure beat(rounds int) language plpgsql as $$
begin
	for i in 1 .. rounds loop
		for n in 1 .. 10 loop
			perform scylla.heartbeat('t' || n, 'w', 0.5);
			commit;
		end loop;
	end loop;
end $$;
SQL
sql($node, q(select scylla.submit_bulk('q', array_fill('{}'::jsonb, array[10]), array(select 't' || n from generate_series(1, 10) n))));
sql($node, q(select count(*) from scylla.lease('q', 'w', 10, '1 h')));

# What a heartbeat costs a connection that has seen the catalog, but not this lease: at most.
sub cost
{
	return sql($node, q(select count(pages('select from scylla.heartbeat($$t1$$, $$w$$)'));
		select max(pages(format('select from scylla.heartbeat(%L, %L)', 't' || n, 'w'))) from generate_series(2, 10) n)) =~ s/.*\n//r;
}

my $holder = $node->background_psql('postgres');
$holder->query_safe('begin isolation level repeatable read; select count(*) from pg_class');
my $before = cost;
sql($node, 'call beat(1000)');
my $after = cost;
my $pages = sql($node, q(select pg_relation_size('scylla.task_lease') / 8192));
cmp_ok($pages, '>', 50, "heartbeats leave versions behind: $pages pages");
cmp_ok($after, '<=', $before + A_FEW, "a heartbeat after 1,000 others under a held snapshot looks at few pages more: $before, $after");
$holder->quit;

# A connection that does not know the place of the lease finds it by the index. Nothing but its own pin could keep the page from being
# cleared of old versions.
sql($node, 'vacuum scylla.task_lease');
my $outside = q(select n_tup_upd - n_tup_hot_upd from pg_stat_user_tables where relid = 'scylla.task_lease'::regclass);
$before = sql($node, $outside);
my $script = PostgreSQL::Test::Utils::tempdir . '/beat.sql';
append_to_file($script, "select scylla.heartbeat('t1', 'w');\n");
$node->command_ok([ 'pgbench', '-n', '-C', '-c', '1', '-t', '400', '-f', $script, 'postgres' ], '400 connections send a heartbeat each');
is(sql($node, $outside), $before, '... and each new version of the lease is on the page of the one before');
$node->stop;

done_testing;

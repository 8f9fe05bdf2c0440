# REPACK (CONCURRENTLY) of PostgreSQL 19, which follows the changes by logical decoding, of tables whose rows are written directly, while
# tasks go through them.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

chomp(my $version = `pg_config --version`);
plan skip_all => "$version has no REPACK" if $version =~ /(\d+)/ && $1 < 19;

my $node = new_node('main', allows_streaming => 'logical');
sql($node, 'create extension scylla');
sql($node, q(select scylla.submit_bulk('q', array(select to_jsonb(i) from generate_series(1, 2000) i))));
my $turns = 300;
my $work = "do \$\$ begin for i in 1 .. $turns loop perform scylla.submit('q', '1', not_before => case i % 3 when 0 then now() + interval '1 h' end);"
  . q( perform case i % 4 when 0 then scylla.yield(l.rn, 'w') when 1 then scylla.fail(l.rn, 'w', '{"code": "x"}', '1 h') else scylla.complete(l.rn, 'w') end)
  . q( from scylla.lease('q', 'w', 1) l; commit; end loop; end $$);
my @tables = qw(task_spec task_ready task_lease task_waiting task_outcome);
my $sessions = [ side_by_side($node, $work, $work) ];
for my $table (@tables, @tables)
{
	is(sqlstate($node, "repack (concurrently) scylla.$table"), '', "scylla.$table is repacked while tasks move");
}
$_->{run}->finish for @$sessions;
is(join('', map { $_->{out} =~ /ERROR.*/g } @$sessions), '', 'the sessions that submit and work have no errors');
is(sql($node, 'select count(*) from scylla.task'), 2000 + 2 * $turns, 'no task is lost');
checked($node, 'check() finds nothing');
$node->stop;

done_testing();

# A reload takes over scylla.monitor_interval at once: a monitor that has planned its next look by the old value looks again.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "scylla.monitor = on\nscylla.monitor_interval = '1 h'");
sql($node, 'create extension scylla');
wait_for_monitor($node, 'postgres');
sql($node, q(
	select scylla.create_queue('short', retention => '1 s');
	select scylla.submit('short', '1', rn => 'old');
	select scylla.cancel('old');));
sql($node, q(alter system set scylla.monitor_interval = '100 ms'));
$node->reload;
eventually($node, q(select count(*) from scylla.task), '0', 'a shorter scylla.monitor_interval is taken over by a reload');
$node->stop;
done_testing();

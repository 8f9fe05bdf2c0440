# The files of the extension in a folder of their own, as an image volume has them: PostgreSQL 18 and later find them by two settings.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

chomp(my $version = `pg_config --version`);
plan skip_all => "$version looks for extensions only in its own folder" if $version =~ /(\d+)/ && $1 < 18;

my ($install_path, $extension) = own_installation();
(my $libraries = $extension) =~ s{/share/(postgresql/\d+)/extension$}{/lib/$1/lib};
my $volume = PostgreSQL::Test::Utils::tempdir . '/volume';
system_or_bail('mkdir', '-p', "$volume/lib", "$volume/share/extension");
system_or_bail('cp', '-L', "$libraries/scylla.so", "$volume/lib");
system_or_bail('cp', '-L', glob("$extension/scylla*"), "$volume/share/extension");
unlink "$libraries/scylla.so", glob("$extension/scylla*");

my $node = PostgreSQL::Test::Cluster->new('main', install_path => $install_path);
$node->init(extra => [ '-E', 'UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'scylla'\nextension_control_path = '$volume/share:\$system'\n"
	  . "dynamic_library_path = '$volume/lib:\$libdir'\nscylla.monitor_interval = '100 ms'");
$node->start;
sql($node, 'create extension scylla');
is(sql($node, q(select distinct right(line, 21) from regexp_split_to_table(pg_read_file('/proc/self/maps'), '\n') line where line like '%/scylla.so')),
	'/volume/lib/scylla.so', 'the server has loaded the library of the volume');
sql($node, q(select scylla.submit('mail', '1', rn => 'late', not_before => now() + interval '100 ms')));
eventually($node, q(select status from scylla.get_task('late')), 'ready', 'the monitor works with the library of the volume');
is(sql($node, q(select rn from scylla.lease('mail', 'w'))), 'late', 'the task is leased');
is(sql($node, 'select count(*) from scylla.check()'), 0, 'check() finds nothing');
$node->stop;

done_testing();

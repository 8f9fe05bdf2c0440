# The library and the objects of the extension in different versions, and an upgrade while workers work. There is one library, so
# what changes here is the version of the objects.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my ($install_path, $extension) = own_installation();
my $node = PostgreSQL::Test::Cluster->new('main', install_path => $install_path);
$node->init(extra => [ '-E', 'UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'scylla'\nscylla.monitor_interval = '100 ms'\nlog_statement = none");
$node->start;
my $version = sql($node, q(select default_version from pg_available_extensions where name = 'scylla'));
my ($major, $minor) = $version =~ /^(\d+)\.(\d+)/ or die "version $version";

# The version that the catalog names, as if the objects had been made by that version's script.
sub pretend
{
	my ($database, $pretended) = @_;
	sql($node, "update pg_extension set extversion = '$pretended' where extname = 'scylla'", $database);
}

my @calls = (
	q(scylla.submit('q', '1')), q(scylla.submit_bulk('q', array['1']::jsonb[])), q(scylla.lease('q', 'w')),
	q(scylla.lease_task('ready', 'w')), q(scylla.heartbeat('running', 'w2')), q(scylla.complete('running', 'w2')),
	q(scylla.fail('running', 'w2', '{"code": "x"}')), q(scylla.yield('running', 'w2')), q(scylla.abort('running', 'w2', '{"code": "x"}')),
	q(scylla.cancel('ready')), q(scylla.get_task('ready')), q(scylla.list_tasks()), q(scylla.count_tasks()),
	q(scylla.create_queue('new')), q(scylla.pause_queue('q')), q(scylla.drop_queue('q')), q(scylla.create_plan('p')),
	q(scylla.maintain()), q(scylla.purge()), q(scylla.reset_expired()));

sub all_refused
{
	my ($database, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @others = grep { sqlstate($node, "select $_", $database) ne '0A000' } @calls;
	push @others, 'wait' if sqlstate($node, q(call scylla.wait('q', '1 ms')), $database) ne '0A000';
	is("@others", '', $name);
}

# What a call says, with the fields that tell a client what it is.
sub told
{
	my ($database) = @_;
	my ($status, $out, $err) = $node->psql($database, "\\set VERBOSITY verbose\nselect scylla.get_task('ready')");
	return $err;
}

# ---- a new library, and objects that nobody has updated -----------------------------------------------------------------------

my $older = $minor > 0 ? $major . '.' . ($minor - 1) : ($major - 1) . '.9';
sql($node, 'create database older');
fill($node, 'older');
my $tasks = tasks($node, 'older');
pretend('older', $older);
$node->restart;

like(told('older'), qr/ERROR:  0A000: extension "scylla" has version \Q$older\E in this database, but the library that the server has loaded has version \Q$version\E$/m,
	'objects that are too old: a call says so');
like(told('older'), qr/^HINT:  Use ALTER EXTENSION scylla UPDATE\.$/m, '... and what to do');
like(told('older'), qr/^SCHEMA NAME:  scylla\nTABLE NAME:  extension\nCONSTRAINT NAME:  version$/m, '... so that a client knows');
all_refused('older', '... every call does');
is(tasks($node, 'older'), $tasks, '... but the view shows every task');
$node->wait_for_log(qr/\] ERROR:  extension "scylla" has version \Q$older\E/);
ok(1, '... the monitor says it in the log');

write_script($extension, "scylla--$older--$version.sql", 'create function scylla.appended() returns integer language sql as $$select 1$$;');
sql($node, 'alter extension scylla update', 'older');
is(tasks($node, 'older'), $tasks, 'after the update every task is the same');
is(sql($node, q(select status from scylla.cancel('waiting')), 'older'), 'cancelled', '... and calls work');
wait_for_monitor($node, 'older', '... the monitor has come back by itself');
checked($node, '... and nothing is inconsistent', 'older');
unlink "$extension/scylla--$older--$version.sql";

# ---- an old library, and objects that are newer ---------------------------------------------------------------------------

my $newer = $major . '.' . ($minor + 1);
sql($node, 'create database newer');
fill($node, 'newer');
$tasks = tasks($node, 'newer');

# The script of a newer version, with a function that the loaded library lacks: it fails as a whole.
write_script($extension, "scylla--$version--$newer.sql", <<'SQL');
create table scylla.extra (id integer);
create function scylla.extra() returns void language c as 'MODULE_PATHNAME', 'scylla_of_a_newer_version';
SQL
my ($status, $out, $err) = $node->psql('newer', "alter extension scylla update to '$newer'");
like($err, qr/could not find function "scylla_of_a_newer_version" in file/, 'an update before the new library is loaded fails');
is(sql($node, q(select extversion, to_regclass('scylla.extra') is null from pg_extension where extname = 'scylla'), 'newer'), "$version|t",
	'... without a trace');
is(tasks($node, 'newer'), $tasks, '... every task is the same');
is(sql($node, q(select status from scylla.cancel('waiting')), 'newer'), 'cancelled', '... and calls work');

# One that needs no new function, and changes a table: sessions that have worked before notice, too.
write_script($extension, "scylla--$version--$newer.sql", 'alter table scylla.queue add column extra integer;');
my $session = $node->background_psql('newer', on_error_stop => 0);
is($session->query_safe(q(select status from scylla.get_task('ready'))), 'ready', 'a session that works');
sql($node, "alter extension scylla update to '$newer'", 'newer');
$session->query(q(select status from scylla.get_task('ready')));
like($session->{stderr}, qr/extension "scylla" has version \Q$newer\E in this database, but the library that the server has loaded has version \Q$version\E/,
	'... is refused after an update that its library does not know');
$session->quit;
like(told('newer'), qr/^HINT:  Install the library of version \Q$newer\E and restart the server\.$/m, 'objects that are too new: a call says what to do');
all_refused('newer', '... every call is refused');
unlink "$extension/scylla--$version--$newer.sql";

# ---- an upgrade while workers work ----------------------------------------------------------------------------------------------

sql($node, 'create database live');
fill($node, 'live');
sql($node, <<'SQL', 'live');
create table stop (at timestamptz);
create procedure work(worker text) language plpgsql as $$
begin
    loop
        perform scylla.submit('work', '1'), scylla.submit('work', '2');
        perform scylla.heartbeat(rn, worker, 0.5) from scylla.lease('work', worker, 2);
        perform scylla.complete(rn, worker) from scylla.task where owner = worker and status = 'running';
        commit;
        exit when exists (select from stop);
    end loop;
end $$;
SQL
my $columns = sql($node, q(select string_agg(attname, ', ' order by attnum) from pg_attribute where attrelid = 'scylla.task'::regclass and attnum > 0), 'live');
my $others = "select $columns from scylla.task where queue <> 'work' order by rn";
$tasks = sql($node, $others, 'live');

my @workers;
for my $name ('w-1', 'w-2', 'w-3')
{
	my ($in, $log) = ('', '');
	push @workers, { log => \$log, run => IPC::Run::start([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('live'), '-c', "call work('$name')" ],
			'<', \$in, '>&', \$log) };
}

# As many tasks more are completed.
sub goes_on
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $completed = q(select count(*) from scylla.task where queue = 'work' and status = 'completed');
	my $now = sql($node, $completed, 'live');
	eventually($node, "select ($completed) >= $now + 30", 't', $name, 'live');
}
goes_on('workers work');

# Functions alone, all of them, and a new one: nobody waits for the update, nor it for anybody.
write_script($extension, "scylla--$version--$version.1.sql", <<'SQL');
do $$
declare
    f record;
begin
    for f in select p.oid::regprocedure as name from pg_catalog.pg_proc p join pg_catalog.pg_depend d on d.objid = p.oid
        and d.classid = 'pg_proc'::regclass and d.deptype = 'e' and d.refobjid = (select oid from pg_catalog.pg_extension where extname = 'scylla')
        where p.prokind = 'f'
    loop
        execute pg_catalog.format('alter function %s cost 10', f.name);
    end loop;
end $$;
create function scylla.extra() returns integer language sql as 'select 1';
SQL
my $updater = $node->background_psql('live');
$updater->query_safe("begin; alter extension scylla update to '$version.1'");
goes_on('... while an update of the functions is under way');
is($updater->query_safe(q(select string_agg(distinct mode, ' ') from pg_locks join pg_class c on c.oid = relation
	where pid = pg_backend_pid() and relnamespace = 'scylla'::regnamespace and relkind in ('r', 'v'))), '', '... which locks no table and no view');
$updater->query_safe('commit');
$updater->quit;
goes_on('... and after it');

# A statement that was prepared with the names of the columns it wants, as libraries do, goes on when the view gets another one.
my $prepared = $node->background_psql('live', on_error_stop => 0);
$prepared->query_safe(q(prepare named as select rn, status from scylla.get_task('ready');
	prepare viewed as select rn, status from scylla.task where rn = 'ready'; execute named; execute viewed));

write_script($extension, "scylla--$version.1--$version.2.sql", $append_column);
sql($node, "alter extension scylla update to '$version.2'", 'live');
is(sql($node, q(select extra from scylla.task where rn = 'completed'), 'live'), '1', 'the view has got a column');
goes_on('... and workers go on');
is($prepared->query_safe('execute named; execute viewed'), "ready|ready\nready|ready", '... as do statements that name their columns');
$prepared->quit;

# Tables, which have to be locked: workers wait, and go on.
write_script($extension, "scylla--$version.2--$version.3.sql", 'create index extra on scylla.task_outcome (finished);');
$updater = $node->background_psql('live');
$updater->query_safe("begin; alter extension scylla update to '$version.3'");
is($updater->query_safe(q(select mode from pg_locks where pid = pg_backend_pid() and relation = 'scylla.task_outcome'::regclass and mode <> 'AccessShareLock')),
	'ShareLock', 'an index on a table of tasks locks it');
eventually($node, q(select count(*) > 0 from pg_locks where relation = 'scylla.task_outcome'::regclass and not granted), 't', '... workers wait', 'live');
$updater->query_safe('commit');
$updater->quit;
goes_on('... and go on');

sql($node, 'insert into stop values (now())', 'live');
for my $worker (@workers)
{
	IPC::Run::finish($worker->{run});
	is(${ $worker->{log} }, '', 'a worker has seen none of it');
}
is(sql($node, q(select count(*) from scylla.task where queue = 'work' and (status <> 'completed' or attempt <> 1)), 'live'), '0',
	'every task of theirs has been completed, at the first attempt');
is(sql($node, $others, 'live'), $tasks, 'the others are the same');
checked($node, 'nothing is inconsistent', 'live');
$node->stop;

done_testing();

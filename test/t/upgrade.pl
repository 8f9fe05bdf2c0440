# Upgrades: a database that was upgraded is the same as one where the new version was installed afresh, by comparison of
# the catalogs; the tasks are still there. Every scylla--A--B.sql that is installed is tested so. There may be none, so the
# comparison itself is tested too: with a made-up next version, whose upgrade script does everything, and with scripts that
# forget something.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my ($install_path, $extension) = own_installation();
my $node = PostgreSQL::Test::Cluster->new('main', install_path => $install_path);
$node->init(extra => [ '-E', 'UTF8', '--locale=C' ]);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'scylla'\nscylla.monitor = off\nlog_statement = none");
$node->start;

my $version = sql($node, q(select default_version from pg_available_extensions where name = 'scylla'));
my $installed = slurp_file("$extension/scylla--$version.sql");

# ---- what the catalogs say about the extension, one line per fact ---------------------------------------------------------

# Names instead of oids, and no positions of things that have no order. The option pg_attver is a number that recent minor
# versions of the server give each column; it says nothing about the column.
my $catalog = <<'SQL';
set search_path = pg_catalog;
create temp view acl as
	select classoid, objoid, objsubid, string_agg(entry, ' ' order by entry) as acl from (
		select 'pg_proc'::regclass as classoid, oid as objoid, 0 as objsubid, unnest(coalesce(proacl, acldefault('f', proowner)))::text as entry from pg_proc
		union all select 'pg_class'::regclass, oid, 0, unnest(coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner)))::text from pg_class
		union all select 'pg_class'::regclass, attrelid, attnum, unnest(attacl)::text from pg_attribute
		union all select 'pg_namespace'::regclass, oid, 0, unnest(coalesce(nspacl, acldefault('n', nspowner)))::text from pg_namespace
		union all select 'pg_type'::regclass, oid, 0, unnest(coalesce(typacl, acldefault('T', typowner)))::text from pg_type) x group by 1, 2, 3;
create temp view member as
	select classid, objid, (pg_identify_object(classid, objid, 0)).identity as name, (pg_identify_object(classid, objid, 0)).type as kind
	from pg_depend where refclassid = 'pg_extension'::regclass and deptype = 'e'
	and refobjid = (select oid from pg_extension where extname = 'scylla');
create temp view rel as select c.*, m.name from member m join pg_class c on m.classid = 'pg_class'::regclass and m.objid = c.oid;

select 'extension', extversion, extnamespace::regnamespace, extrelocatable from pg_extension where extname = 'scylla'
order by 2;
select 'dumped', t::regclass, condition from pg_extension, unnest(extconfig, extcondition) as x(t, condition)
where extname = 'scylla' order by 2;
select 'member', kind, name, acl, obj_description(m.objid, (select relname from pg_class where oid = m.classid))
from member m left join acl on (classoid, acl.objoid, objsubid) = (m.classid, m.objid, 0) order by 2, 3;
select 'initial privileges', (pg_identify_object(classoid, objoid, objsubid)).identity, initprivs::text[]
from pg_init_privs join member on (classid, objid) = (classoid, objoid) order by 2, 3;
select 'function', name, pg_get_functiondef(objid) from member where kind = 'function' or kind = 'procedure' order by 2;
select 'relation', name, relkind, relpersistence, relreplident, relrowsecurity, relforcerowsecurity, relhastriggers, relhasrules,
	(select amname from pg_am where oid = relam), reltablespace,
	(select string_agg(o, ' ' order by o) from unnest(reloptions) o) from rel order by 2;
select 'toast', name, (select string_agg(o, ' ' order by o) from unnest(t.reloptions) o) from rel join pg_class t on t.oid = rel.reltoastrelid order by 2;
select 'column', name, row_number() over (partition by name order by attnum), attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attstorage,
	attcompression, attstattarget, attidentity, attgenerated,
	(select string_agg(o, ' ' order by o) from unnest(attoptions) o where o !~ '^pg_attver='), (select collname from pg_collation where oid = attcollation), acl,
	col_description(attrelid, attnum)
from rel join pg_attribute on attrelid = rel.oid left join pg_attrdef on (adrelid, adnum) = (attrelid, attnum)
left join acl on (classoid, objoid, objsubid) = ('pg_class'::regclass, attrelid, attnum)
where attnum > 0 and not attisdropped and relkind <> 'S' order by 2, 3;
select 'index', name, pg_get_indexdef(indexrelid), indisunique, indisprimary, indisreplident, indisvalid, indisready, indimmediate,
	obj_description(indexrelid, 'pg_class'), (select string_agg(o, ' ' order by o) from unnest(i.reloptions) o)
from rel join pg_index on indrelid = rel.oid join pg_class i on i.oid = indexrelid order by 2, 3;
select 'constraint', name, conname, contype, pg_get_constraintdef(con.oid), convalidated, obj_description(con.oid, 'pg_constraint')
from rel join pg_constraint con on conrelid = rel.oid order by 2, 3;
select 'rule', name, pg_get_ruledef(r.oid) from rel join pg_rewrite r on ev_class = rel.oid order by 2, 3;
select 'trigger', name, pg_get_triggerdef(t.oid) from rel join pg_trigger t on tgrelid = rel.oid order by 2, 3;
select 'policy', name, polname, polcmd, pg_get_expr(polqual, polrelid) from rel join pg_policy on polrelid = rel.oid order by 2, 3;
select 'sequence', name, seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle from rel join pg_sequence on seqrelid = rel.oid order by 2;
select 'label', name, row_number() over (partition by name order by enumsortorder), enumlabel
from member join pg_enum on classid = 'pg_type'::regclass and enumtypid = objid order by 2, 3;
SQL

sub describe
{
	my ($database) = @_;
	return sql($node, $catalog, $database);
}

# The lines in which two descriptions differ.
sub difference
{
	my ($one, $other) = @_;
	my %count;
	$count{$_}++ for split /\n/, $one;
	$count{$_}-- for split /\n/, $other;
	return join "\n", map { ($count{$_} > 0 ? '- ' : '+ ') . $_ } sort grep { $count{$_} } keys %count;
}

my $databases = 0;

# A database with the extension in a version.
sub database_with
{
	my ($installed_version) = @_;
	my $name = 'db' . ++$databases;
	sql($node, "create database $name");
	sql($node, "create extension scylla version '$installed_version'", $name);
	return $name;
}

# How an upgraded database differs from a fresh one.
my %fresh;
sub upgrade_difference
{
	my ($from, $to) = @_;
	$fresh{$to} //= describe(database_with($to));
	my $upgraded = database_with($from);
	sql($node, "alter extension scylla update to '$to'", $upgraded);
	is(sql($node, q(select extversion from pg_extension where extname = 'scylla'), $upgraded), $to, "$from -> $to: upgraded");
	my $difference = difference($fresh{$to}, describe($upgraded));
	sql($node, "drop database $upgraded");
	return $difference;
}

# ---- the comparison -------------------------------------------------------------------------------------------------------

my $one = describe(database_with($version));
is(difference($one, describe(database_with($version))), '', 'two fresh installations are the same');
like($one, qr/^function\|scylla\."?$_"?\(/m, "the description has the function $_") for qw(submit lease complete check);
like($one, qr/^member\|table\|scylla\.$_\|/m, "the description has the table $_") for qw(queue task_spec task_ready task_lease);
like($one, qr/^dumped\|(?:scylla\.)?task_id_seq\|/m, 'the description has what is dumped');
like($one, qr/^index\|scylla\.task_ready\|.*priority DESC/m, 'the description has the indexes');

# A next version that has one more of everything.
my $next = "$version.1";
my @steps = (
	'a table' => 'create table scylla.extra (id integer primary key, note text not null default $$x$$);',
	'a comment on a table' => 'comment on table scylla.extra is $$More.$$;',
	'a comment on a column' => 'comment on column scylla.extra.note is $$A note.$$;',
	'rights on a table' => 'revoke all on scylla.extra from public; grant select on scylla.extra to pg_monitor;',
	'a table that is dumped' => 'select pg_catalog.pg_extension_config_dump($$scylla.extra$$, $$$$);',
	'an index' => 'create index extra_note on scylla.extra (note);',
	'a column of a table that is there' => 'alter table scylla.queue add column extra integer;',
	'a storage parameter' => 'alter table scylla.task_spec set (fillfactor = 90);',
	'a check constraint' => 'alter table scylla.extra add constraint extra_id check (id > 0);',
	'a replica identity' => 'alter table scylla.extra replica identity full;',
	'a function' => q(create function scylla.extra(a integer) returns integer language sql as 'select a';),
	'rights on a function' => 'revoke all on function scylla.extra(integer) from public;',
	'a property of a function' => 'alter function scylla.extra(integer) immutable;',
	'a comment on a function' => 'comment on function scylla.extra(integer) is $$More.$$;',
	'a comment on a function that is there' => 'comment on function scylla.cancel(text) is $$Other words.$$;',
	'a view' => 'create view scylla.extras as select id from scylla.extra;',
	'a column of the view of tasks' => $append_column,
	'a type' => 'create type scylla.colour as enum ($$red$$, $$green$$);');
my @names = @steps[ grep { $_ % 2 == 0 } 0 .. $#steps ];
my %step = @steps;
write_script($extension, "scylla--$next.sql", join "\n", $installed, map { $step{$_} } @names);

sub write_upgrade
{
	write_script($extension, "scylla--$version--$next.sql", join "\n", '\echo Use ALTER EXTENSION scylla UPDATE. \quit', map { $step{$_} } @_);
}

write_upgrade(@names);
is(upgrade_difference($version, $next), '', 'an upgrade script that does everything: no difference');

# What a script forgets is seen. What others build on cannot be forgotten alone.
my %needed = map { $_ => 1 } 'a table', 'a function';
for my $forgotten (grep { !$needed{$_} } @names)
{
	write_upgrade(grep { $_ ne $forgotten } @names);
	isnt(upgrade_difference($version, $next), '', "an upgrade script that forgets $forgotten is found out");
}

# Begins a run of a workflow with a task in that queue.
sub begin_run
{
	my ($database, $id, $type) = @_;
	sql($node, qq(select scylla.create_workflow('{"properties": {"owner": "ada"}, "workflow": {"id": "$id", "steps": [
		{"foreach": {"id": "each", "params": {"loop_params": {"type": "MAP", "value": {"i": {"type": "LONG_ARRAY", "value": [1, 2]}}}},
		             "steps": [{"step": {"id": "in", "type": "$type"}}], "concurrency": 1, "transition": {"successors": {"wait": "true"}}}},
		{"step": {"id": "wait", "type": "NoOp", "signal_dependencies": [{"name": "$id"}]}}]}}');
		select scylla.start_workflow('$id'); call scylla.advance()), $database);
}

# Completes its task, and lets the engine go on.
sub work_of_run
{
	my ($database, $id) = @_;
	sql($node, qq(select from scylla.list_tasks(status => 'ready') t, scylla.lease_task(t.rn, 'engine test') where t.spec ->> 'workflow' = '$id';
		select from scylla.list_tasks(status => 'running') t, scylla.complete(t.rn, 'engine test') where t.spec ->> 'workflow' = '$id';
		call scylla.advance()), $database);
}

sub steps_of_run
{
	my ($database, $id) = @_;
	return sql($node, "select string_agg(step || coalesce(iterations::text, '') || ' ' || status, ', ' order by step, iterations) from scylla.workflow_step where workflow = '$id'", $database);
}

# The tasks and the runs come through the upgrade, which replaces all functions and views, and work goes on with the library that is there.
write_upgrade(grep { !/view of tasks|column of a table/ } @names);
append_to_file("$extension/scylla--$version--$next.sql", "\n" . substr $installed, index $installed, 'create or replace function');
sql($node, 'create database work');
fill($node, 'work');
begin_run('work', $_, 'Flow') for qw(begun waits paused);
work_of_run('work', 'waits') for 1 .. 2;
sql($node, q(select scylla.pause_step('paused', 1, 'wait')), 'work');
work_of_run('work', 'paused') for 1 .. 2;
my %steps = map { $_ => steps_of_run('work', $_) } qw(begun waits paused);
is("$steps{begun}; $steps{waits}; $steps{paused}",
	'each RUNNING, in{1} RUNNING; each SUCCEEDED, in{1} SUCCEEDED, in{2} SUCCEEDED, wait WAITING_FOR_SIGNALS; each SUCCEEDED, in{1} SUCCEEDED, in{2} SUCCEEDED, wait PAUSED',
	'runs of workflows are under way');
my $before = tasks($node, 'work');
sql($node, "alter extension scylla update to '$next'", 'work');
is(tasks($node, 'work'), $before, 'every task is the same after an upgrade');
is(sql($node, q(select rn, attempt from scylla.lease('q', 'w')), 'work'), 'ready|1', 'lease works after an upgrade');
checked($node, 'check() finds nothing after an upgrade', 'work');
is(steps_of_run('work', $_), $steps{$_}, "the run $_ is the same after an upgrade") for qw(begun waits paused);
work_of_run('work', 'begun') for 1 .. 2;
sql($node, q(select scylla.resume_step('paused', 1, 'wait'); call scylla.advance();
	select scylla.send_signal(id, '{}') from unnest('{begun,waits,paused}'::text[]) id; call scylla.advance()), 'work');
is(steps_of_run('work', $_), 'each SUCCEEDED, in{1} SUCCEEDED, in{2} SUCCEEDED, wait SUCCEEDED', "the run $_ goes on to its end") for qw(begun waits paused);
is(sql($node, q(select string_agg(distinct status, ' ') from scylla.workflow_run), 'work'), 'SUCCEEDED', 'and has succeeded');
checked($node, 'check() finds nothing after these', 'work');

# An appended column of the view is no trouble for a library that does not know it.
write_upgrade('a table', 'a column of the view of tasks');
sql($node, 'create database appended');
fill($node, 'appended');
sql($node, "alter extension scylla update to '$next'", 'appended');
is(sql($node, q(select rn, extra is null from scylla.lease('q', 'w')), 'appended'), 'ready|t', 'a column appended to the view does no harm');

unlink "$extension/scylla--$next.sql", "$extension/scylla--$version--$next.sql";

# ---- the upgrade scripts that there are -----------------------------------------------------------------------------------

my %path = map { split /\|/ } split /\n/,
  sql($node, "select source, path from pg_extension_update_paths('scylla') where target = '$version' and path is not null");
# Fails where scylla--FROM.sql has not been kept: there would be nothing to upgrade.
is(upgrade_difference($_, $version), '', "$path{$_}: the same as a fresh installation") for sort keys %path;

my @scripts = map { /^scylla--(.+--.+)\.sql$/ ? $1 : () } slurp_dir($extension);
my @untested = grep { my $script = $_; !grep { "--$_--" =~ /--\Q$script\E--/ } values %path } @scripts;
is("@untested", '', 'every upgrade script is part of a path that has been tested (' . @scripts . ' scripts)');

# ---- what a released version has left behind ---------------------------------------------------------------------------------

# Tasks in every state, as that version stored them, come through; and then work goes on.
for my $file (sort glob "$FindBin::RealBin/data/scylla-*.sql")
{
	my ($released) = $file =~ m{scylla-([^/]+)\.sql$};
	my $database = database_with($released);
	sql($node, slurp_file($file), $database);
	my $columns = sql($node, q(select string_agg(attname, ', ' order by attnum) from pg_attribute
		where attrelid = 'scylla.task'::regclass and attnum > 0), $database);
	my $look = "select $columns from scylla.task order by rn";
	my $tasks = sql($node, $look, $database);
	is(sql($node, 'select string_agg(distinct status::text, $$ $$) from scylla.task', $database),
		'aborted cancelled completed ready running waiting', "$released has tasks in all states");
	sql($node, 'alter extension scylla update', $database);
	is(sql($node, $look, $database), $tasks, "$released -> $version: every task is the same");
	checked($node, "$released -> $version: check() finds nothing", $database);
	is(sql($node, q(select rn from scylla.lease('q', 'w')), $database), 'ready', "$released -> $version: lease works");
	is(sql($node, q(select status from scylla.complete('running', 'w2')), $database), 'completed', "$released -> $version: so does complete");
	is(sql($node, q(select scylla.open_plan('plan')), $database), '', "$released -> $version: so does a plan");
	is(sql($node, q(select owner from scylla.get_task('l1')), $database), 'w', "$released -> $version: leases are held");
	is(sql($node, q(select name from scylla.schedules), $database), 'nightly', "$released -> $version: schedules are there");
	is(sql($node, q(set scylla.schedules = manual; select scylla.arm_schedules(); select scylla._run_schedules_at(next_run) from scylla.schedules;
			select last_task = rn and t.queue = 'q' from scylla.task t, scylla.schedules where rn like 'nightly/%'), $database),
		"1\n1\nt", "$released -> $version: ... and run");
	checked($node, "$released -> $version: check() finds nothing afterwards", $database);

	# Workflows came later. Their runs use the queues of that version, beside its tasks.
	my $others = sql($node, $look, $database);
	begin_run($database, 'flow', 'Q');
	work_of_run($database, 'flow') for 1 .. 2;
	sql($node, q(select scylla.send_signal('flow', '{}'); call scylla.advance()), $database);
	is(steps_of_run($database, 'flow'), 'each SUCCEEDED, in{1} SUCCEEDED, in{2} SUCCEEDED, wait SUCCEEDED', "$released -> $version: a workflow runs");
	is(sql($node, "select $columns from scylla.task where plan is null or plan not like 'workflow:%' order by rn", $database), $others,
		"$released -> $version: ... and leaves the tasks that were there");
	checked($node, "$released -> $version: check() finds nothing after that", $database);
}

# 0.1 did not tell of a task why it was skipped; from then on it says so, and is known by it.
my $skipped = database_with('0.1');
sql($node, q(
	insert into scylla.queue (name, viewers) values ('q', '{pg_monitor,public}');
	insert into scylla.task_plan (id, opened, owner, name) values (nextval('scylla.task_id_seq'), now(), current_user, 'plan');
	insert into scylla.task_spec (id, created, queue, priority, rn, spec, gates, plan)
	select nextval('scylla.task_id_seq'), now(), 1, 0, rn, '1', gates, plan
	from (values ('late', null, null), ('first', null, null), ('fine', null, null), ('skipped', 4, 1), ('by hand', 1, null), ('last', 1, 1)) v (rn, gates, plan);
	insert into scylla.task_gate (task, provider, ord, kind, on_failure)
	select t.id, case ord when 0 then 1 else p.id end, ord, case ord when 0 then 'p' else 't' end::"char", case t.rn when 'last' then 'c' else 's' end::"char"
	from (values ('skipped', null, 0), ('skipped', 'fine', 1), ('skipped', 'late', 2), ('skipped', 'first', 3), ('by hand', 'fine', 1), ('last', null, 0)) v (task, provider, ord)
	join scylla.task_spec t on t.rn = v.task left join scylla.task_spec p on p.rn = v.provider;
	insert into scylla.task_outcome (id, finished, queue, attempt, failures, progress, status, owner)
	select t.id, now() + n * interval '1 s', 1, attempt, 0, case status when 'completed' then 1 else 0 end, status::scylla.task_status,
		case attempt when 1 then 'w' end
	from (values (1, 'by hand', 'cancelled', 0), (2, 'fine', 'completed', 1), (3, 'first', 'aborted', 1), (4, 'skipped', 'cancelled', 0),
		(5, 'late', 'cancelled', 0)) v (n, rn, status, attempt) join scylla.task_spec t using (rn);
	insert into scylla.task_ready (id, updated, queue, attempt, failures, priority)
	select id, now(), 1, 0, 0, 0 from scylla.task_spec where rn = 'last'), $skipped);
sql($node, 'alter extension scylla update', $skipped);
is(sql($node, q(select rn, errors from scylla.task where rn in ('skipped', 'by hand') order by rn), $skipped),
	qq(by hand|[]\nskipped|[{"args": {"provider": "first"}, "code": "dependency-failed", "message": "a task that this one depends on was aborted"}]),
	'a task that 0.1 has skipped says why');
checked($node, 'check() finds nothing', $skipped);
is(sql($node, q(select string_agg(role, ' ' order by role) from scylla.queue_grants where privilege = 'depend'), $skipped), 'pg_monitor public',
	'who may view a queue of 0.1 may still depend on its tasks');
sql($node, q(select scylla.lease_task('last', 'w'); select scylla.complete('last', 'w')), $skipped);
is(sql($node, 'select status from scylla.plan', $skipped), 'completed', 'and its plan is completed');

$node->stop;
done_testing();

# Indexes stay true to their tables, whatever a row goes through: with a summarizing index (BRIN) on each table that the
# functions write directly, which since PostgreSQL 16 does not keep a new version of a row from being heap-only. And
# scylla.check() sees an index that is not true.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::RealBin/lib";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use ScyllaTest;
use Test::More;

my $node = new_node('main', settings => "autovacuum = off\nscylla.schedules = manual");
sql($node, 'create extension scylla; create extension amcheck');

my %summarized = (
	queue => 'created', task_spec => 'created', task_ready => 'updated', task_lease => 'deadline', task_waiting => 'updated',
	task_outcome => 'finished', task_gate => 'task', task_plan => 'opened', task_dedup => 'id', event => '"time"');
sql($node, "create index on scylla.$_ using brin ($summarized{$_})") for sort keys %summarized;

# The server's own opinion of every btree: each row of the table is in it, and since 17 no key leads to two of them.
my $unique = sql($node, q(select count(*) from pg_proc where proname = 'bt_index_check' and 'checkunique' = any (proargnames)));
sub sound
{
	my ($name) = @_;
	my $check = $unique ? 'bt_index_check(i.indexrelid, true, i.indisunique)' : 'bt_index_check(i.indexrelid, true)';
	my ($out, $err) = result_of($node, qq(select count($check) from pg_index i join pg_class c on c.oid = i.indexrelid
		join pg_am a on a.oid = c.relam and a.amname = 'btree' where c.relnamespace = 'scylla'::regnamespace));
	is($err, '', "$name: amcheck finds nothing");
	checked($node, "$name: check() finds nothing");
}

sql($node, q(
	select scylla.create_queue('q', events => true), scylla.create_queue('limited', max_running => 100);
	select scylla.create_plan('plan');
	select scylla.submit('q', '1', rn => 'x' || i) from generate_series(1, 40) i;
	select scylla.submit('limited', '1', rn => 'l' || i, dedup_key => 'k' || i) from generate_series(1, 40) i;
	select scylla.submit('q', '1', rn => 'p' || i, plan => 'plan', depends_on => case when i > 1 then array['p' || i - 1] end)
	  from generate_series(1, 9) i;
	select scylla.submit('q', '1', rn => 'later', not_before => now() + interval '1 day');
	select scylla.lease_task('x' || i, 'w' || i % 4) from generate_series(1, 40) i;
	select scylla.lease_task('l' || i, 'w' || i % 4) from generate_series(1, 40) i;));
sound('leased');

# Each round by another transaction, as workers do it; the versions go from page to page as they are cleared away.
for my $round (1 .. 30)
{
	sql($node, qq(select scylla.heartbeat('x' || i, 'w' || i % 4, $round / 100.0) from generate_series(1, 40) i;
		select scylla.heartbeat_many(array(select 'l' || i from generate_series(1, 40) i where i % 4 = w), 'w' || w) from generate_series(0, 3) w;
		select scylla.alter_queue('q', '{"retention": "$round h"}');));
	sql($node, 'vacuum scylla.task_lease; vacuum scylla.queue') if $round % 10 == 0;
}
sound('kept alive');
sql($node, q(select scylla.open_plan('plan'); select scylla.lease_task('p1', 'w'); select scylla.complete('p1', 'w');
	select scylla.cancel_plan('plan'); vacuum;));
sound('vacuumed');

is(sql($node, q(select count(*) from scylla.task where status = 'running')), '80', 'every lease is there');
sql($node, q(select scylla.complete('x' || i, 'w' || i % 4) from generate_series(1, 40, 2) i;
	select scylla.complete_many(array(select 'l' || i from generate_series(1, 40) i where i % 4 = w), 'w' || w) from generate_series(0, 3) w;));
is(sql($node, q(select string_agg(distinct status::text, ' ') from scylla.task where rn ~ '^x[0-9]*[13579]$')), 'completed',
	'each call ended the task that it names');
is(sql($node, q(select string_agg(distinct status::text, ' ') from scylla.task where rn ~ '^x[0-9]*[02468]$')), 'running', '... and no other');
sql($node, 'vacuum');
sound('ended');

# An index that was not told of a row, and one that was not told of a row's end and so leads to what has come in its place.
sub told
{
	my ($index, $whether) = @_;
	sql($node, "update pg_index set indisready = $whether where indexrelid = 'scylla.$index'::regclass");
}
sub found { return sql($node, q(select coalesce(rn, '-'), problem from scylla.check() order by problem)) }

sql($node, 'vacuum full scylla.task_lease'); # all on one page
sql($node, 'create table kept as select * from scylla.task_lease order by id limit 3');
my @place = split /\n/, sql($node, 'select ctid from scylla.task_lease where id in (select id from kept) order by id');
my @lease = split /\n/, sql($node, 'select id from kept order by id');
told('task_lease_pkey', 'false');
sql($node, "update scylla.task_lease set queue = queue where id = $lease[1]");
sql($node, "delete from scylla.task_lease where id = $lease[1]; insert into scylla.task_lease select * from kept where id = $lease[1]");
my $where = sql($node, "select ctid from scylla.task_lease where id = $lease[1]");
told('task_lease_pkey', 'true');
is(found(), "-|row $where of task_lease is found 0 times by the index task_lease_pkey, instead of once", 'check() sees a row that an index does not lead to');
sql($node, 'reindex index scylla.task_lease_pkey');
is(found(), '', '... until the index is made anew');

told('task_lease_pkey', 'false');
sql($node, "delete from scylla.task_lease where id = $lease[0]");
sql($node, 'vacuum (index_cleanup on) scylla.task_lease');
told('task_lease_pkey', 'true');
sql($node, "delete from scylla.task_lease where id = $lease[2]; insert into scylla.task_lease select * from kept where id = $lease[2]");
is(sql($node, "select ctid from scylla.task_lease where id = $lease[2]"), $place[0], "a row has come to another row's place");
like(found(), qr/^-\|row \Q$place[0]\E of task_lease is found 2 times by the index task_lease_pkey, instead of once$/m,
	'check() sees a row that an index leads to twice');

# What a REINDEX CONCURRENTLY that is interrupted leaves is an old index, and the next REINDEX makes it valid again.
sql($node, 'reindex index scylla.task_lease_pkey');
my $reader = $node->background_psql('postgres');
$reader->query_safe('begin; select from scylla.task_spec limit 1');
my ($out, $err) = result_of($node, "set lock_timeout = '100 ms';\nreindex index concurrently scylla.task_spec_rn");
like($err, qr/55P03/, 'REINDEX CONCURRENTLY is interrupted while it waits for a reader of the table');
$reader->query_safe('commit');
$reader->quit;
my $copies = q(select string_agg(indexrelid::regclass || ' ' || indisvalid, ' ' order by 1) from pg_index where indexrelid::regclass::text ~ 'task_spec_rn_cc');
is(sql($node, $copies), 'scylla.task_spec_rn_ccold false', '... and leaves the old index');
sub refusal { return ($node->psql('postgres', q(select scylla.submit('q', '1', rn => 'x2'))))[2] }
like(refusal(), qr/task "x2" already exists/, 'a name that is taken is refused as always, although the old index sees it first');
sql($node, 'reindex table scylla.task_spec');
is(sql($node, $copies), 'scylla.task_spec_rn_ccold true', 'REINDEX TABLE makes the old index valid');
like(refusal(), qr/task "x2" already exists/, '... a name that is taken is refused as always');
unlike(found(), qr/cannot have/, '... and check() does not complain of it');

$node->stop;
done_testing();

-- Queues that are shared between keys: turns by weight.
begin;
\ir include/helpers.psql
select * from no_plan();
-- Whatever the statistics know of tables that this transaction fills: what the functions do is held against joins of all tasks.
set local enable_nestloop = off;

-- The keys of the next tasks, '-' for none.
create function got(queue text, max_tasks int, times int = 1) returns text language plpgsql as $$
declare
    gotten text[] := '{}';
begin
    for i in 1 .. times loop
        gotten := gotten || array(select coalesce(key, '-') from scylla.lease(queue, 'w', max_tasks, '1 h'));
    end loop;
    return array_to_string(gotten, ' ');
end $$;
create procedure fill(queue text, keys text[], tasks int) language sql as $$
    select scylla.submit(queue, to_jsonb(n), key => nullif(k, '-')) from unnest(keys) k, generate_series(1, tasks) n;
$$;

-- ---- turns -----------------------------------------------------------------------------------------------------------------

do $$ begin
    perform scylla.create_queue('turns', key_weights => '{"b": 3, "": 2}');
    call fill('turns', '{c,b,a,-}', 100);
end $$;
select is(got('turns', 1, 15), 'a b b b c - - a b b b c - - a', 'keys take turns, in the order of their bytes; last, tasks without');
select is(got('turns', 4, 4), 'b b b c - - a b b b c - - a b b', 'turns go on from lease to lease, also of many tasks');
select is(got('turns', 1, 2), 'b c', 'a turn that is cut short goes on with the next lease');
select is((select string_agg(key || ' ' || n, ', ' order by key) from (select coalesce(key, '-') as key, count(*) as n
           from scylla.lease('turns', 'w', 140, '1 h') group by key) t), '- 40, a 20, b 60, c 20', 'shares are as weights');

-- Who has nothing does not hold up the others, and has no claim for later.
do $$ begin perform scylla.cancel(rn) from scylla.task where queue = 'turns' and key in ('b', 'c') and status = 'ready'; end $$;
select is(got('turns', 1, 6), '- - a - - a', 'keys without tasks have no turn');
do $$ begin call fill('turns', '{b,aa}', 5); end $$;
select is(got('turns', 12), 'aa b b b - - a aa b b - -', 'new keys get theirs, and a turn ends where there are no more tasks');
-- What a lease has taken itself its snapshot still shows.
do $$ begin
    perform scylla.create_queue('more', key_weights => '{"b": 2}');
    call fill('more', '{a,b}', 1);
end $$;
select is(got('more', 10), 'a b', 'a lease of more tasks than there are');
do $$ begin call fill('more', '{a,b}', 1); end $$;
select is(got('more', 1), 'a', '... has given the turn to nobody in vain');

-- Within a key the order is that of the queue.
do $$ begin
    perform scylla.create_queue('within', key_weights => '{}');
    perform scylla.submit('within', '1', rn => key || n, key => key, priority => n % 3) from unnest(array['x', 'y']) key, generate_series(1, 6) n;
    perform scylla.create_queue('aged', key_weights => '{}', aging => 0.01);
    perform scylla.submit('aged', '1', rn => 'aged ' || key || n, key => key, priority => n) from unnest(array['x', 'y']) key, generate_series(1, 3) n;
    update scylla.task_spec set created = created - interval '1000 s' where rn = 'aged y1';
end $$;
select is((select string_agg(rn, ' ' order by n) from scylla.lease('within', 'w', 12) with ordinality
           l (rn, q, spec, status, priority, progress, created, updated, owner, deadline, errors, history, result, metrics, args,
              attempt, failures, max_attempts, not_before, plan, key, n)),
          'x2 y2 x5 y5 x1 y1 x4 y4 x3 y3 x6 y6', 'a key gives its best task first');
select is((select string_agg(rn, ', ' order by n) from scylla.lease('aged', 'w', 6) with ordinality
           l (rn, q, spec, status, priority, progress, created, updated, owner, deadline, errors, history, result, metrics, args,
              attempt, failures, max_attempts, not_before, plan, key, n)),
          'aged x3, aged y1, aged x2, aged y3, aged x1, aged y2', 'with aging the one that has gained most');

-- ---- with limits: the same as the rules applied to all keys -----------------------------------------------------------------

create temp table rules (turn text, remaining int);
-- The key of the next task by the rules; null: there is none. '' for tasks without a key.
create function next_key(queue_name text, per_key int) returns text language plpgsql as $$
declare
    r rules := (select x from rules x);
    k text;
begin
    create temp table if not exists having_tasks (key text collate "C" primary key);
    truncate having_tasks;
    insert into having_tasks
    select coalesce(t.key, '') from scylla.task t where t.queue = queue_name group by 1
    having count(*) filter (where status = 'ready') > 0 and (coalesce(t.key, '') = '' or count(*) filter (where status = 'running') < per_key);
    if r.remaining > 0 and exists (select from having_tasks where key = r.turn) then
        update rules set remaining = remaining - 1;
        return r.turn;
    end if;
    select key into k from having_tasks order by key <= r.turn, key limit 1;
    update rules set turn = coalesce(k, r.turn), remaining = coalesce((select coalesce(key_weights ->> k, key_weights ->> '*', '1')::int - 1
                                                          from scylla.queue where name = queue_name and k is not null), 0);
    return k;
end $$;
create function strange_leases(queue_name text, per_key int, steps int) returns int language plpgsql as $$
declare
    strange int := 0;
    expected text;
    leased text;
begin
    insert into rules values ('', 0);
    for i in 1 .. steps loop
        expected := next_key(queue_name, per_key);
        leased := null;
        select coalesce(key, '') into leased from scylla.lease(queue_name, 'w', 1, '1 h');
        if leased is distinct from expected
           or exists (select from scylla.task where queue = queue_name and status = 'running' and key is not null
                      group by key having count(*) > per_key) then
            strange := strange + 1;
        end if;
        if expected is null or random() < 0.6 then
            perform scylla.complete(rn, 'w')
            from (select rn from scylla.task where queue = queue_name and status = 'running' order by random() limit 3) t;
        end if;
    end loop;
    delete from rules;
    return strange;
end $$;
select setseed(0.42);
do $$ begin
    perform scylla.create_queue('few', key_weights => '{"*": 2, "k3": 5, "": 1}', max_running_per_key => 4);
    perform scylla.submit('few', to_jsonb(n), key => 'k' || nullif(floor(random() * random() * 9), 8)) from generate_series(1, 150) n;
    -- Most keys are full most of the time, and they are more than those that a lease passes one by one.
    perform scylla.create_queue('many', key_weights => '{"k7": 3}', max_running_per_key => 1);
    perform scylla.submit('many', to_jsonb(n), key => 'k' || floor(random() * 100)) from generate_series(1, 250) n;
end $$;
select is(strange_leases('few', 4, 150), 0, 'each lease gets the key whose turn it is, and none has more than may run');
select is(strange_leases('many', 1, 150), 0, 'also where there are many, and most of them full');

-- ---- one key with 100,000 tasks ------------------------------------------------------------------------------------------------

savepoint many; -- undone afterwards: check() joins all tasks, by a plan for as many as the statistics know of
do $$ begin
    perform scylla.create_queue('crowd', key_weights => '{}');
    perform scylla.submit_many((select jsonb_agg(jsonb_build_object('queue', 'crowd', 'spec', 1, 'key', 'k', 'priority', 9))
                                from generate_series(1, 10000)))
    from generate_series(1, 10);
    call fill('crowd', '{a,z}', 5);
end $$;
select is(got('crowd', 1, 3), 'a k z', 'each has its turn');
select cmp_ok(blocks_of($$select got('crowd', 1)$$), '<', 60::bigint, 'a lease steps from key to key, not from task to task');
select is(got('crowd', 1, 2), 'k z', 'and all go on having it');
select is((select count(*) from scylla.task_lease l join scylla.queue q on q.id = l.queue where q.name = 'crowd' and permit is not null), 0::bigint,
          'without limits there are no permits');
rollback to many;

-- ---- settings ---------------------------------------------------------------------------------------------------------------

do $$ begin
    call fill('later', '{b,-,a}', 4);
    perform scylla.alter_queue('later', '{"key_weights": {"a": 2}}');
end $$;
select is(got('later', 1, 5), 'a a b - a', 'a queue can be shared later on');
do $$ begin perform scylla.alter_queue('later', '{"key_weights": null}'); end $$;
select is(got('later', 1, 7), 'b b b - - - a', 'and go by its order again');

select all_is_sound();
select * from finish();
rollback;

-- Placing: which of the tasks in line get what they need of pools
--
-- One task after the other, as the policies of docs/pools.md say. Whoever asks fills the first four tables, calls twin.place_line()
-- and writes down what it says. test/pgtap/pools_random.sql uses this file too, with what the extension's own tables hold.

-- What is free of the resources of pools.
create table twin.left_over (
    pool text,
    resource text,
    capacity numeric not null,
    amount numeric not null,
    policy text not null,
    max_bypass int not null,
    closed boolean not null,    -- nothing is placed
    stopped boolean not null default false,     -- strict: a task that came before does not fit
    primary key (pool, resource)
);

-- What comes back when, as far as that is known.
create table twin.run_end (pool text not null, resource text not null, at timestamptz not null, amount numeric not null);

-- The first task of a pool that did not fit when somebody last placed tasks there, if others have passed it, and how many have.
create table twin.earlier_head (pool text primary key, task bigint not null, passed bigint not null);

-- The tasks, in their order.
create table twin.line (place bigint primary key, task bigint not null, needs jsonb not null, runtime interval);

-- Of pools that backfill: the first task that does not fit, when it can start (null: that cannot be planned), how many tasks have passed
-- it, and what is kept for it.
create table twin.head (pool text primary key, task bigint not null, start timestamptz, passed bigint not null);
create table twin.head_need (pool text not null, resource text not null, amount numeric not null);

-- The ways to meet the needs of these tasks, but for those that could not if nothing were taken.
create table twin.way (task bigint not null, n bigint not null, chosen text, pool text not null, resource text not null, amount numeric not null);
create index on twin.way (task, n);

create function twin.begin_placing() returns void language sql as $$
    delete from twin.left_over;
    delete from twin.run_end;
    delete from twin.earlier_head;
    delete from twin.line;
    delete from twin.head;
    delete from twin.head_need;
    delete from twin.way;
$$;

-- The pools that needs name.
create function twin.pools_in(needs jsonb) returns setof text language sql stable as $$
    select key from jsonb_each(needs) where jsonb_typeof(value) = 'object'
    union all
    select jsonb_array_elements_text(needs -> 'any');
$$;

-- The ways to meet needs: each all that is taken together. A task that takes from one pool only shows it.
create function twin.ways(needs jsonb) returns table (n bigint, chosen text, pool text, resource text, amount numeric)
    language sql stable as $$
    select w.n, w.chosen, x.pool, x.resource, x.amount
    from (select a.n, a.pool as chosen from jsonb_array_elements_text(needs -> 'any') with ordinality a (pool, n)
          union all
          select 1, case when (select count(*) from jsonb_object_keys(needs)) = 1 then (select k from jsonb_object_keys(needs) k) end
          where not needs ? 'any') w,
         lateral (select k.key as pool, e.key as resource, e.value::numeric as amount
                  from jsonb_each(needs) k cross join lateral jsonb_each_text(k.value) e where jsonb_typeof(k.value) = 'object'
                  union all
                  select w.chosen, k.key, k.value::text::numeric from jsonb_each(needs) k where jsonb_typeof(k.value) = 'number') x;
$$;

create function twin.find_ways() returns void language plpgsql as $$
begin
    insert into twin.way
    select w.task, w.n, w.chosen, w.pool, w.resource, w.amount
    from (select o.task, v.*, bool_and(coalesce(not l.closed and v.amount <= l.capacity, false)) over (partition by o.task, v.n) as possible
          from twin.line o cross join lateral twin.ways(o.needs) v left join twin.left_over l using (pool, resource)) w
    where w.possible;
end $$;

create function twin.free_at(of_pool text, of_resource text, moment timestamptz) returns numeric language plpgsql as $$
begin
    return (select l.amount from twin.left_over l where l.pool = of_pool and l.resource = of_resource)
        + coalesce((select sum(e.amount) from twin.run_end e where e.pool = of_pool and e.resource = of_resource and e.at <= moment), 0);
end $$;

-- Why the head of a pool forbids another task to take so much until then; null: it does not.
create function twin.disturbs(of_pool text, of_resource text, needed numeric, ends timestamptz) returns text language plpgsql as $$
begin
    return (
        select case when h.start is null then case when h.passed >= l.max_bypass then 'kept for the head' end
                    when coalesce(ends > h.start, true) and twin.free_at(of_pool, of_resource, h.start) - needed < n.amount
                    then 'would delay the head' end
        from twin.head h join twin.head_need n using (pool) join twin.left_over l using (pool, resource)
        where h.pool = of_pool and n.resource = of_resource and n.amount > 0 and needed > 0);
end $$;

-- When all that a task needs by that way will be free; null: that cannot be planned.
create function twin.plan_start(of_task bigint, of_n bigint, moment timestamptz) returns timestamptz language plpgsql as $$
begin
    return (
        select min(t.at)
        from (select moment
              union
              select greatest(e.at, moment) from twin.run_end e join twin.way w using (pool, resource) where w.task = of_task and w.n = of_n) t (at)
        where not exists (select from twin.way w join twin.left_over l using (pool, resource)
                          where w.task = of_task and w.n = of_n and w.amount > 0
                            and w.amount > l.amount and w.amount > twin.free_at(w.pool, w.resource, t.at)));
end $$;

-- The task becomes the head of the pools of a way that backfill and have none.
create function twin.become_head(of_task bigint, of_n bigint, start timestamptz) returns void language plpgsql as $$
begin
    with new_head as (
        insert into twin.head
        select distinct w.pool, of_task, become_head.start,
               coalesce((select e.passed from twin.earlier_head e where e.pool = w.pool and e.task = of_task), 0)
        from twin.way w join twin.left_over l using (pool, resource)
        where w.task = of_task and w.n = of_n and l.policy = 'backfill' and not exists (select from twin.head h where h.pool = w.pool)
        returning pool)
    insert into twin.head_need
    select w.pool, w.resource, w.amount from twin.way w where w.task = of_task and w.n = of_n and w.pool in (select pool from new_head);
end $$;

-- It waits for room where it could be served: that stops the pools that keep the order, and makes it the head where it can start first.
create function twin.stay(of_task bigint, moment timestamptz) returns void language plpgsql as $$
declare
    way record;
    best bigint;
    best_start timestamptz;
    start timestamptz;
begin
    for way in select w.n, bool_or(l.policy = 'backfill' and not exists (select from twin.head h where h.pool = w.pool)) as plannable,
                      bool_or(w.amount > 0 and w.amount > l.amount) as lacks, bool_or(l.stopped) as behind
               from twin.way w join twin.left_over l using (pool, resource) where w.task = of_task group by w.n order by w.n loop
        continue when not way.plannable;
        start := case when way.lacks and not way.behind then twin.plan_start(of_task, way.n, moment) end;
        if best is null or coalesce(start, 'infinity') < coalesce(best_start, 'infinity') then
            best := way.n;
            best_start := start;
        end if;
    end loop;
    update twin.left_over o set stopped = true
    where o.policy = 'strict' and o.pool in (select w.pool from twin.way w where w.task = of_task);
    if best is not null then
        perform twin.become_head(of_task, best, best_start);
    end if;
end $$;

create function twin.take(of_task bigint, of_n bigint, ends timestamptz) returns void language plpgsql as $$
begin
    update twin.left_over l set amount = l.amount - w.amount
    from twin.way w where w.task = of_task and w.n = of_n and w.pool = l.pool and w.resource = l.resource;
    insert into twin.run_end select w.pool, w.resource, ends, w.amount from twin.way w where w.task = of_task and w.n = of_n and ends is not null;
    update twin.head h set passed = passed + 1 where h.pool in (select w.pool from twin.way w where w.task = of_task and w.n = of_n);
end $$;

-- The tasks in their order: by which way each is placed (null: it stays), the pool that it shows, and whether only the head of a pool
-- stands in its way.
create function twin.place_line(moment timestamptz) returns table (task bigint, way bigint, chosen text, forbidden text)
    language plpgsql as $$
declare
    one twin.line;
    possible record;
begin
    perform twin.find_ways();
    for one in select * from twin.line l order by l.place loop
        task := one.task;
        way := null;
        chosen := null;
        forbidden := null;
        for possible in
            select w.n, w.chosen, bool_and((w.amount = 0 or w.amount <= l.amount) and not l.stopped) as fits,
                   min(twin.disturbs(w.pool, w.resource, w.amount, moment + one.runtime)) as disturbs
            from twin.way w join twin.left_over l using (pool, resource) where w.task = one.task group by w.n, w.chosen order by w.n
        loop
            continue when not possible.fits;
            forbidden := possible.disturbs;
            if forbidden is null then
                way := possible.n;
                chosen := possible.chosen;
                exit;
            end if;
        end loop;
        if way is null then
            perform twin.stay(one.task, moment);
        else
            perform twin.take(one.task, way, moment + one.runtime);
        end if;
        return next;
    end loop;
end $$;

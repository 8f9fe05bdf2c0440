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

create function twin.begin_placing() returns void language sql as $$
    delete from twin.left_over;
    delete from twin.run_end;
    delete from twin.earlier_head;
    delete from twin.line;
    delete from twin.head;
    delete from twin.head_need;
$$;

-- The pools that needs name.
create function twin.pools_in(needs jsonb) returns setof text language sql as $$
    select key from jsonb_each(needs) where jsonb_typeof(value) = 'object'
    union all
    select jsonb_array_elements_text(needs -> 'any');
$$;

-- The ways to meet needs: each all that is taken together. A task that takes from one pool only shows it.
create function twin.ways(needs jsonb) returns table (n bigint, chosen text, pool text, resource text, amount numeric) language sql as $$
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

create function twin.free_at(of_pool text, of_resource text, moment timestamptz) returns numeric language sql as $$
    select l.amount + coalesce((select sum(e.amount) from twin.run_end e
                                where e.pool = l.pool and e.resource = l.resource and e.at <= moment), 0)
    from twin.left_over l where l.pool = of_pool and l.resource = of_resource;
$$;

-- Why the head of a pool forbids another task to take so much until then; null: it does not.
create function twin.disturbs(of_pool text, of_resource text, needed numeric, ends timestamptz) returns text language sql as $$
    select case when h.start is null then case when h.passed >= l.max_bypass then 'kept for the head' end
                when coalesce(ends > h.start, true) and twin.free_at(of_pool, of_resource, h.start) - needed < n.amount
                then 'would delay the head' end
    from twin.head h join twin.head_need n using (pool) join twin.left_over l using (pool, resource)
    where h.pool = of_pool and n.resource = of_resource and n.amount > 0 and needed > 0;
$$;

-- Whether the way could meet the needs if nothing were taken.
create function twin.is_possible(needs jsonb, way bigint) returns boolean language sql as $$
    select bool_and(coalesce(not l.closed and w.amount <= l.capacity, false))
    from twin.ways(needs) w left join twin.left_over l using (pool, resource) where w.n = way;
$$;

-- When all of it will be free; null: that cannot be planned.
create function twin.plan_start(needs jsonb, way bigint, moment timestamptz) returns timestamptz language sql as $$
    select min(t.at) from (select moment union select greatest(at, moment) from twin.run_end) t (at)
    where not exists (select from twin.ways(needs) w join twin.left_over l using (pool, resource)
                      where w.n = way and w.amount > 0 and w.amount > greatest(twin.free_at(w.pool, w.resource, t.at), l.amount));
$$;

-- The task becomes the head of the pools of a way that backfill and have none.
create function twin.become_head(of_line twin.line, way bigint, start timestamptz) returns void language sql as $$
    with new_head as (
        insert into twin.head
        select distinct w.pool, of_line.task, become_head.start,
               coalesce((select e.passed from twin.earlier_head e where e.pool = w.pool and e.task = of_line.task), 0)
        from twin.ways(of_line.needs) w join twin.left_over l using (pool, resource)
        where w.n = way and l.policy = 'backfill' and not exists (select from twin.head h where h.pool = w.pool)
        returning pool)
    insert into twin.head_need
    select w.pool, w.resource, w.amount from twin.ways(of_line.needs) w where w.n = way and w.pool in (select pool from new_head);
$$;

-- It waits for room where it could be served: that stops the pools that keep the order, and makes it the head where it can start first.
create function twin.stay(of_line twin.line, moment timestamptz) returns void language plpgsql as $$
declare
    way record;
    best bigint;
    best_start timestamptz;
    start timestamptz;
begin
    for way in select w.n, bool_or(l.policy = 'backfill' and not exists (select from twin.head h where h.pool = w.pool)) as plannable,
                      bool_or(w.amount > 0 and w.amount > l.amount) as lacks, bool_or(l.stopped) as behind
               from twin.ways(of_line.needs) w join twin.left_over l using (pool, resource)
               where twin.is_possible(of_line.needs, w.n) group by w.n order by w.n loop
        continue when not way.plannable;
        start := case when way.lacks and not way.behind then twin.plan_start(of_line.needs, way.n, moment) end;
        if best is null or coalesce(start, 'infinity') < coalesce(best_start, 'infinity') then
            best := way.n;
            best_start := start;
        end if;
    end loop;
    update twin.left_over o set stopped = true
    where o.policy = 'strict' and o.pool in (select w.pool from twin.ways(of_line.needs) w where twin.is_possible(of_line.needs, w.n));
    perform twin.become_head(of_line, best, best_start);
end $$;

create function twin.take(of_line twin.line, way bigint, ends timestamptz) returns void language sql as $$
    update twin.left_over l set amount = l.amount - w.amount
    from twin.ways(of_line.needs) w where w.n = way and w.pool = l.pool and w.resource = l.resource;
    insert into twin.run_end select w.pool, w.resource, ends, w.amount from twin.ways(of_line.needs) w where w.n = way and ends is not null;
    update twin.head h set passed = passed + 1 where h.pool in (select w.pool from twin.ways(of_line.needs) w where w.n = way);
$$;

-- The tasks in their order: by which way each is placed (null: it stays), the pool that it shows, and whether only the head of a pool
-- stands in its way.
create function twin.place_line(moment timestamptz) returns table (task bigint, way bigint, chosen text, forbidden text)
    language plpgsql as $$
declare
    one twin.line;
    possible record;
begin
    for one in select * from twin.line l order by l.place loop
        task := one.task;
        way := null;
        chosen := null;
        forbidden := null;
        for possible in
            select w.n, w.chosen, bool_and(coalesce((w.amount = 0 or w.amount <= l.amount) and not l.stopped, false)) as fits,
                   min(twin.disturbs(w.pool, w.resource, w.amount, moment + one.runtime)) as disturbs
            from twin.ways(one.needs) w left join twin.left_over l using (pool, resource)
            where twin.is_possible(one.needs, w.n) group by w.n, w.chosen order by w.n
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
            perform twin.stay(one, moment);
        else
            perform twin.take(one, way, moment + one.runtime);
        end if;
        return next;
    end loop;
end $$;

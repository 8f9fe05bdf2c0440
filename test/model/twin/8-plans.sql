-- Plans

create function twin.create_plan(name text default null, spec jsonb default null) returns text language plpgsql as $$
begin
    if name is not null then
        perform twin.check_name('name', name);
    end if;
    if exists (select from twin.plan p where p.name = create_plan.name) then
        perform twin.refuse('42710', 'plan', 'unique', format('plan "%s" already exists', name));
    end if;
    name := coalesce(name, twin.new_name());
    insert into twin.plan (name, spec, created) values (name, spec, clock_timestamp());
    return name;
end $$;

create function twin.known_plan(name text) returns twin.plan language plpgsql as $$
declare
    p twin.plan;
begin
    select * into p from twin.plan e where e.name = known_plan.name;
    if p.id is null then
        perform twin.refuse('P0002', 'plan', 'exists', format('plan "%s" does not exist', name));
    end if;
    return p;
end $$;

create function twin.live_plan(name text) returns twin.plan language plpgsql as $$
declare
    p twin.plan := twin.known_plan(name);
begin
    if p.finished is not null then
        perform twin.refuse('55000', 'plan', 'live', format('plan "%s" has already ended', name),
                            format('It is %s.', case when p.cancelled then 'cancelled' else 'finished' end));
    end if;
    return p;
end $$;

create function twin.open_plan(plan text) returns void language plpgsql as $$
declare
    p twin.plan;
begin
    perform twin.check_name('plan', plan);
    p := twin.live_plan(plan);
    if p.opened is not null then
        perform twin.refuse('55000', 'plan', 'building', format('plan "%s" is already open', plan));
    end if;
    update twin.plan o set opened = clock_timestamp() where o.id = p.id;
    insert into twin.happened (plan) values (p.id);
    perform twin.settle();
end $$;

-- All its live tasks are cancelled before anybody who depends on them is looked at.
create function twin.cancel_plan(plan text) returns bigint language plpgsql as $$
declare
    p twin.plan;
    n bigint;
begin
    perform twin.check_name('plan', plan);
    p := twin.live_plan(plan);
    select count(twin.ended(l.t, 'cancelled')) into n
    from (select t from twin.task t where t.plan = p.id and twin.is_live(t) order by t.id) l;
    update twin.plan c set cancelled = true, failed = false, finished = clock_timestamp() where c.id = p.id;
    perform twin.settle();
    return n;
end $$;

create function twin.plan_completed(plan text) returns boolean language plpgsql as $$
declare
    p twin.plan;
begin
    perform twin.check_name('plan', plan);
    p := twin.known_plan(plan);
    return p.finished is not null and not p.failed and not p.cancelled;
end $$;

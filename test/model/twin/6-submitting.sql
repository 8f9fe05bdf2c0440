-- Submitting

-- What somebody wants to be done: what the three ways to submit have in common.
create type twin.request as (queue text, spec jsonb, priority int, rn text, not_before timestamptz, depends_on text[],
                             on_failure text, plan text, max_attempts int, retry jsonb, dedup_key text, key text,
                             needs jsonb, runtime interval);

create function twin.default_max_attempts() returns int language sql as $$
    select nullif(coalesce(nullif(current_setting('scylla.default_max_attempts', true), ''), '25')::int, -1);
$$;

create function twin.check_request(r twin.request) returns void language plpgsql as $$
begin
    perform twin.check_name('queue', r.queue);
    perform twin.check_argument('spec', r.spec <> 'null', 'It must not be null.');
    perform twin.check_argument('priority', r.priority between 0 and 127, 'It must be 0 to 127.');
    perform twin.check_argument('not_before', r.not_before is null or isfinite(r.not_before), 'It must be finite.');
    perform twin.check_name('depends_on', rn) from unnest(r.depends_on) rn;
    perform twin.check_failure_rule(r.on_failure);
    perform twin.check_argument('max_attempts', r.max_attempts is null or r.max_attempts >= 1,
                                'It must be at least 1.');
    perform twin.check_retry(r.retry);
    perform twin.check_timeout('expected_runtime', r.runtime);
    perform twin.check_name(k, v)
    from (values ('rn', r.rn), ('plan', r.plan), ('dedup_key', r.dedup_key), ('key', r.key)) _ (k, v) where v is not null;
end $$;

-- The names that are made next, if somebody knows them.
create table twin.next_name (place bigint generated always as identity primary key, name text not null);

-- A name that sorts by the time at which it was made: UUID version 7.
create function twin.new_name() returns text language sql as $$
    with next as (delete from twin.next_name where place = (select min(place) from twin.next_name) returning name)
    select coalesce((select name from next), encode(set_bit(set_bit(
               overlay(uuid_send(gen_random_uuid())
                       placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
                       from 1 for 6),
               52, 1), 53, 1), 'hex')::uuid::text);
$$;

-- The task on which another is to depend.
create function twin.provider(rn text) returns bigint language plpgsql as $$
declare
    id bigint := (select t.id from twin.task t where t.rn = provider.rn);
begin
    if id is null then
        perform twin.refuse('P0002', 'task', 'provider', format('task "%s" in "depends_on" does not exist', rn));
    end if;
    return id;
end $$;

create function twin.refuse_cycle() returns void language sql as $$
    select twin.refuse('22023', 'task', 'cycle', 'tasks depend on each other in a cycle');
$$;

-- An element of wait_for. provider: null for a signal and a check until there is a gate. Of a check the name is that of its queue, and
-- match what it asks.
create type twin.wait as (kind text, name text, match jsonb, on_failure text, timeout interval, on_timeout text, provider bigint,
                          expires timestamptz, every interval);

-- What is asked, and how often.
create function twin.with_check(w twin.wait, asked jsonb) returns twin.wait language plpgsql as $$
declare
    unknown text;
begin
    perform twin.check_argument('check', jsonb_typeof(asked) = 'object', 'It must be an object.');
    select key into unknown from jsonb_each(asked) where key not in ('queue', 'spec', 'every') and value <> 'null';
    perform twin.check_argument('check', unknown is null, 'It has no such member.');
    w.name := twin.element_value(asked, 'queue', 'string');
    perform twin.check_name('queue', w.name);
    w.match := asked -> 'spec';
    perform twin.check_argument('spec', w.match <> 'null', 'It must not be null.');
    w.every := twin.length(twin.element_value(asked, 'every', 'string')::interval);
    perform twin.check_timeout('every', w.every);
    return w;
end $$;

create function twin.wait_in(element jsonb, on_failure text) returns twin.wait language plpgsql as $$
declare
    w twin.wait;
    unknown text;
begin
    perform twin.check_argument('wait_for', jsonb_typeof(element) = 'object', 'Its elements must be objects.');
    select coalesce(jsonb_object_agg(key, value), '{}') into element from jsonb_each(element) where value <> 'null';
    select k into unknown from jsonb_object_keys(element) k
    where k not in ('task', 'callback', 'signal', 'check', 'match', 'on_failure', 'timeout', 'on_timeout');
    perform twin.check_argument('wait_for', unknown is null, 'It has no such member.');
    perform twin.check_argument('wait_for', 1 = (select count(*) from jsonb_object_keys(element) k where k in ('task', 'callback', 'signal', 'check')),
                                'It must have exactly one of them.');
    select k, element ->> k into w.kind, w.name from jsonb_object_keys(element) k where k in ('task', 'callback', 'signal', 'check');
    if w.kind = 'check' then
        w := twin.with_check(w, element -> 'check');
    else
        perform twin.check_argument(w.kind, jsonb_typeof(element -> w.kind) = 'string', 'It must be a text.');
        perform twin.check_name(w.kind, w.name);
        w.match := case when w.kind = 'signal' then coalesce(element -> 'match', '{}') end;
    end if;
    perform twin.check_argument('wait_for', w.kind = 'signal' or not element ? 'match', 'Only a signal has it.');
    w.on_failure := coalesce(twin.element_value(element, 'on_failure', 'string'), on_failure);
    perform twin.check_argument('on_failure', w.on_failure in ('cascade', 'skip', 'ignore'), 'It must be cascade, skip or ignore.');
    w.timeout := twin.length(twin.element_value(element, 'timeout', 'string')::interval);
    perform twin.check_timeout('timeout', w.timeout);
    w.on_timeout := coalesce(twin.element_value(element, 'on_timeout', 'string'), 'abort');
    perform twin.check_argument('on_timeout', w.on_timeout in ('abort', 'skip', 'ignore'), 'It must be abort, skip or ignore.');
    perform twin.check_argument('wait_for', w.timeout is not null or not element ? 'on_timeout', 'It needs a timeout.');
    return w;
end $$;

create function twin.waits_in(wait_for jsonb, on_failure text) returns twin.wait[] language plpgsql as $$
begin
    perform twin.check_argument('wait_for', coalesce(jsonb_typeof(wait_for), 'array') = 'array', 'It must be an array.');
    return array(select twin.wait_in(e, on_failure) from jsonb_array_elements(coalesce(wait_for, '[]')) with ordinality _ (e, n) order by n);
end $$;

-- The callback with a token, as long as it can be waited for: until it expires, or has ended.
create function twin.known_callback(name text) returns twin.condition language plpgsql as $$
declare
    c twin.condition;
begin
    select * into c from twin.condition e where e.token = name;
    if c.id is null or c.ended is null and c.expires <= clock_timestamp() then
        perform twin.refuse('P0002', 'callback', 'exists', format('callback "%s" does not exist or has expired', name));
    end if;
    return c;
end $$;

-- With what is there already.
create function twin.known_waits(waits twin.wait[]) returns twin.wait[] language plpgsql as $$
declare
    c twin.condition;
begin
    for n in 1 .. cardinality(waits) loop
        if (waits[n]).kind = 'task' then
            waits[n].provider := twin.provider((waits[n]).name);
        elsif (waits[n]).kind = 'callback' then
            c := twin.known_callback((waits[n]).name);
            waits[n].provider := c.id;
            waits[n].expires := c.expires;
        elsif (waits[n]).kind = 'check' then
            perform twin.need_queue((waits[n]).name);
        end if;
    end loop;
    return waits;
end $$;

-- Whom a task asks that waits for a check: one that is live and asks the same, else a new one. Nobody asks itself.
create function twin.check_for(waiter twin.task, queue text, question jsonb, moment timestamptz) returns bigint language plpgsql as $$
declare
    request twin.request;
    has_room boolean;
    asked twin.task;
begin
    select * into asked from twin.task c
    where c.is_check and c.queue = check_for.queue and c.spec = question and twin.is_live(c) and c.id <> waiter.id;
    if asked.id is null then
        has_room := twin.taken(queue, 1) = 1;
        request.queue := queue;
        request.spec := question;
        request.priority := waiter.priority;
        request.on_failure := 'cascade';
        asked := (twin.admit(request, 'error', moment)).t;
        update twin.task c set is_check = true where c.id = asked.id;
        asked := case when has_room then twin.placed(asked, moment) else twin.shed(asked, moment) end;
    end if;
    return asked.id;
end $$;

-- A task begins to wait. A callback that expires has failed: on_failure says what that means, unless the gate times out before.
create function twin.put_gates(t twin.task, waits twin.wait[], moment timestamptz) returns void language plpgsql as $$
declare
    w twin.wait;
    ord int := cardinality(t.depends_on);
    deadline timestamptz;
begin
    foreach w in array waits loop
        ord := ord + 1;
        deadline := moment + w.timeout;
        if w.expires < deadline or deadline is null and w.expires is not null then
            deadline := w.expires;
            w.on_timeout := case w.on_failure when 'cascade' then 'abort' else w.on_failure end;
        end if;
        w.provider := case w.kind when 'signal' then twin.signal_condition(w.name, w.match, moment)
                                  when 'check' then twin.check_for(t, w.name, w.match, moment) else w.provider end;
        insert into twin.gate values (t.id, ord, w.kind, w.provider, w.on_failure, deadline, w.on_timeout, w.every);
    end loop;
end $$;

-- The live task of a queue with that deduplication key.
create function twin.holder(queue text, dedup_key text) returns twin.task language sql as $$
    select t from twin.task t where t.queue = holder.queue and t.dedup_key = holder.dedup_key and twin.is_live(t);
$$;

-- The one way in, once there is a queue. Gives back the task, and whether it is new: a name that is taken comes before a
-- deduplication key that is. A new task has yet to be bound to what it depends on, and to be placed.
create function twin.admit(r twin.request, on_duplicate text, moment timestamptz, out t twin.task, out inserted boolean)
    language plpgsql as $$
begin
    inserted := false;
    select * into t from twin.task where task.rn = r.rn;
    if t.id is null then
        t := twin.holder(r.queue, r.dedup_key);
        if t.id is not null and on_duplicate = 'error' then
            perform twin.refuse('23505', 'task', 'dedup', format('a live task of queue "%s" already has the deduplication key "%s"',
                                                                r.queue, r.dedup_key));
        end if;
    elsif on_duplicate = 'error' then
        perform twin.refuse('23505', 'task', 'unique', format('task "%s" already exists', r.rn));
    end if;
    if t.id is null then
        inserted := true;
        insert into twin.task (rn, queue, spec, priority, not_before, max_attempts, retry, depends_on, on_failure, plan, dedup_key, key,
                               needs, runtime, created, updated, status)
        values (coalesce(r.rn, twin.new_name()), r.queue, r.spec, r.priority, r.not_before,
                coalesce(r.max_attempts, (select q.max_attempts from twin.queue q where q.name = r.queue), twin.default_max_attempts()), r.retry,
                '{}', r.on_failure, case when r.plan is not null then (twin.live_plan(r.plan)).id end, r.dedup_key, r.key, r.needs,
                twin.length(r.runtime), moment, moment, 'waiting')
        returning * into t;
    end if;
end $$;

-- How many of so many new tasks a queue takes: all, or an error; in one that sheds, as many as there is room for. `new`: their ids,
-- if they are there already.
create function twin.taken(queue text, wanted int, new bigint[] default '{}') returns int language plpgsql as $$
declare
    q twin.queue;
    room int;
begin
    select * into q from twin.queue e where e.name = taken.queue;
    if q.max_depth is null or twin.is_pending(queue, 'max_depth') then
        return wanted;
    end if;
    room := greatest(q.max_depth - (select count(*) from twin.task t
                                    where t.queue = q.name and t.status in ('waiting', 'ready') and t.id <> all (new)), 0);
    if room < wanted and q.on_full = 'error' then
        perform twin.refuse('53400', 'queue', 'max_depth', format('queue "%s" has reached its max_depth', queue));
    end if;
    return least(wanted, room);
end $$;

-- The end of a task for which there is no room. Others may depend on it.
create function twin.shed(t twin.task, moment timestamptz) returns twin.task language plpgsql as $$
begin
    t.errors := twin.errors_with(t, '{"code": "queue-full", "args": {}, "message": "the queue has reached its max_depth"}');
    return twin.ended(t, 'cancelled', moment);
end $$;

create function twin.bound(t twin.task, providers bigint[]) returns twin.task language sql as $$
    update twin.task u set depends_on = providers where u.id = t.id returning u;
$$;

create function twin.submit(queue text, spec jsonb, priority int default 0, rn text default null,
                            not_before timestamptz default null, depends_on text[] default null,
                            on_dependency_failure text default 'cascade', plan text default null,
                            max_attempts int default null, retry jsonb default null, dedup_key text default null,
                            key text default null, on_duplicate text default 'error', wait_for jsonb default null,
                            needs jsonb default null, expected_runtime interval default null, dedup_for interval default null,
                            debounce interval default null, run_timeout interval default null)
    returns twin.task_row language plpgsql as $$
declare
    request twin.request := (queue, spec, coalesce(priority, 0), rn, not_before, depends_on, coalesce(on_dependency_failure, 'cascade'), plan, max_attempts, retry,
                             dedup_key, key, needs, expected_runtime);
    moment timestamptz;
    name text;
    providers bigint[] := '{}';
    waits twin.wait[];
    has_room boolean;
    t twin.task;
begin
    on_duplicate := coalesce(on_duplicate, 'error');
    perform twin.check_duplicate_rule(on_duplicate);
    perform twin.check_request(request);
    waits := twin.waits_in(wait_for, request.on_failure);
    -- The driver leaves them out.
    if dedup_for is not null or debounce is not null or run_timeout is not null then
        raise feature_not_supported;
    end if;
    -- What is there already needs nothing else.
    if on_duplicate = 'ignore' then
        select * into t from twin.task e where e.rn = submit.rn;
        t := case when t.id is null then twin.holder(queue, dedup_key) else t end;
        if t.id is not null then
            return twin.shown(t);
        end if;
    end if;
    foreach name in array coalesce(depends_on, '{}') loop
        if name = rn then
            perform twin.refuse_cycle();
        end if;
        providers := providers || twin.provider(name);
    end loop;
    waits := twin.known_waits(waits);
    perform twin.check_needs(needs);
    perform twin.need_queue(queue);
    has_room := twin.taken(queue, 1) = 1;
    if plan is not null then
        perform twin.live_plan(plan);
    end if;
    moment := clock_timestamp();
    t := (twin.admit(request, on_duplicate, moment)).t;
    t := twin.bound(t, providers);
    perform twin.put_gates(t, waits, moment);
    t := case when has_room then twin.placed(t, moment) else twin.shed(t, moment) end;
    perform twin.settle(moment);
    return twin.shown(t);
end $$;

-- The value of a key of one element of submit_many's array, as text; null if it is absent or JSON null.
create function twin.element_value(element jsonb, key text, json_type text) returns text language plpgsql as $$
begin
    perform twin.check_argument(key, coalesce(jsonb_typeof(element -> key), 'null') in (json_type, 'null'),
                                format('It must be a %s.', json_type));
    return element ->> key;
end $$;

-- JSON does not tell 5 from 5.0.
create function twin.element_int(element jsonb, key text) returns int language plpgsql as $$
declare
    value numeric := twin.element_value(element, key, 'number');
begin
    perform twin.check_argument(key, value is null or value = trunc(value) and abs(value) < 2147483648,
                                'It must be a whole number.');
    return value;
end $$;

create function twin.element_time(element jsonb, key text) returns timestamptz language plpgsql as $$
begin
    return twin.element_value(element, key, 'string')::timestamptz;
exception when invalid_datetime_format or datetime_field_overflow or invalid_parameter_value then
    perform twin.refuse_argument(key, 'It must be a time as ISO 8601 has it.');
end $$;

create function twin.element_names(element jsonb, key text) returns text[] language plpgsql as $$
begin
    perform twin.element_value(element, key, 'array');
    perform twin.check_argument(key, jsonb_typeof(e) = 'string', 'Its elements must be texts.')
    from jsonb_array_elements(nullif(element -> key, 'null')) e;
    return array(select e #>> '{}' from jsonb_array_elements(nullif(element -> key, 'null')) with ordinality _(e, place) order by place);
end $$;

create function twin.request_in(element jsonb) returns twin.request language plpgsql as $$
declare
    unknown text;
    request twin.request;
begin
    perform twin.check_argument('tasks', jsonb_typeof(element) = 'object', 'Its elements must be objects.');
    select k into unknown from jsonb_object_keys(element) k
    where k not in ('queue', 'spec', 'priority', 'rn', 'not_before', 'depends_on', 'on_dependency_failure', 'plan',
                    'max_attempts', 'retry', 'dedup_key', 'key', 'needs', 'expected_runtime')
    limit 1;
    perform twin.check_argument(unknown, unknown is null, 'It is no argument of submit().');

    request := (twin.element_value(element, 'queue', 'string'), element -> 'spec',
                coalesce(twin.element_int(element, 'priority'), 0), twin.element_value(element, 'rn', 'string'),
                twin.element_time(element, 'not_before'), twin.element_names(element, 'depends_on'),
                coalesce(twin.element_value(element, 'on_dependency_failure', 'string'), 'cascade'),
                twin.element_value(element, 'plan', 'string'), twin.element_int(element, 'max_attempts'),
                nullif(element -> 'retry', 'null'), twin.element_value(element, 'dedup_key', 'string'),
                twin.element_value(element, 'key', 'string'), nullif(element -> 'needs', 'null'),
                twin.element_value(element, 'expected_runtime', 'string')::interval);
    perform twin.check_request(request);
    return request;
end $$;

-- Who depends on whom: an element, its place among those that an element names, its name, and the (first) element of that name,
-- if there is one.
create type twin.edge as (element bigint, place bigint, rn text, other bigint);

create function twin.edges(requests twin.request[]) returns twin.edge[] language sql as $$
    select array_agg((r.ordinality, d.place, d.rn, array_position(array(select n.rn from unnest(requests) n), d.rn))::twin.edge)
    from unnest(requests) with ordinality r, unnest(r.depends_on) with ordinality d (rn, place);
$$;

-- Puts an element behind those that come before it: those that it depends on, and those that they depend on.
create function twin.in_order(before bigint[], one bigint, of_all bigint[]) returns bigint[] language plpgsql as $$
declare
    provider bigint;
begin
    if one = any (before) or one <> all (of_all) then
        return before;
    end if;
    foreach provider in array (select depends_on from twin.task where id = one) loop
        before := twin.in_order(before, provider, of_all);
    end loop;
    return before || one;
end $$;

-- The whole array is read, and has its queues, before the first task is written. Elements may depend on each other, in any order
-- but a circle. Who depends on an element that was not inserted depends on the task that is there instead. Where a queue that sheds
-- has not room for all of its elements, it is the last ones that are shed, where each comes
-- after those that it depends on.
create function twin.submit_many(tasks jsonb, on_duplicate text default 'ignore')
    returns table (rn text, inserted boolean) language plpgsql as $$
declare
    requests twin.request[];
    edges twin.edge[];
    moment timestamptz := clock_timestamp();
    admitted record;
    ids bigint[];
    new bigint[] := '{}';       -- those of them that are inserted
    shed bigint[] := '{}';
    in_order bigint[] := '{}';
    name text;
    of_queue bigint[];
    one bigint;
begin
    on_duplicate := coalesce(on_duplicate, 'ignore');
    perform twin.check_duplicate_rule(on_duplicate);
    perform twin.check_argument('tasks', jsonb_typeof(tasks) = 'array', 'It must be an array.');
    select coalesce(array_agg(twin.request_in(e) order by n), '{}') into requests
    from jsonb_array_elements(tasks) with ordinality _(e, n);

    edges := twin.edges(requests);
    perform twin.provider(e.rn) from unnest(edges) e where e.other is null;
    perform twin.refuse_cycle()
    where exists (with recursive reached as (
                      select e.element, e.other from unnest(edges) e
                      union select r.element, e.other from reached r join unnest(edges) e on e.element = r.other)
                  select from reached r where r.element = r.other);
    perform twin.need_queue(r.queue) from unnest(requests) r;
    perform twin.check_needs(r.needs) from unnest(requests) r;
    perform twin.live_plan(p.plan)
    from (select r.plan from unnest(requests) r where r.plan is not null order by r.plan collate "C") p;

    for n in 1 .. cardinality(requests) loop
        admitted := twin.admit(requests[n], on_duplicate, moment);
        ids[n] := (admitted.t).id;
        if admitted.inserted then
            new := new || ids[n];
        end if;
        rn := (admitted.t).rn;
        inserted := admitted.inserted;
        return next;
    end loop;
    perform twin.bound(t, array(select coalesce(ids[e.other], twin.provider(e.rn)) from unnest(edges) e
                                where e.element = array_position(ids, t.id) order by e.place))
    from twin.task t where t.id = any (new);
    perform twin.refuse_cycle()
    where exists (with recursive reached as (
                      select t.id, other from twin.task t, unnest(t.depends_on) other where t.id = any (new)
                      union select r.id, next from reached r join twin.task t on t.id = r.other, unnest(t.depends_on) next
                            where t.id = any (new))
                  select from reached r where r.id = r.other);
    foreach one in array new loop
        in_order := twin.in_order(in_order, one, new);
    end loop;
    for name, of_queue in
        select t.queue, array_agg(t.id order by array_position(in_order, t.id)) from twin.task t where t.id = any (new) group by t.queue
    loop
        shed := shed || of_queue[twin.taken(name, cardinality(of_queue), new) + 1 :];
    end loop;
    foreach one in array new loop
        perform case when one = any (shed) then twin.shed(t, moment) else twin.placed(t, moment) end
        from twin.task t where t.id = one;
    end loop;
    perform twin.settle(moment);
end $$;

-- For speed there, for nothing but convenience here. Every rn must be new.
create function twin.submit_bulk(queue text, specs jsonb[], rns text[] default null, priority int default 0)
    returns bigint language plpgsql as $$
declare
    request twin.request;
    t twin.task;
    room int;
begin
    priority := coalesce(priority, 0);
    perform twin.check_name('queue', queue);
    perform twin.check_argument('specs', specs is not null, 'It must be an array.');
    perform twin.check_argument('priority', priority between 0 and 127, 'It must be 0 to 127.');
    perform twin.check_argument('rns', rns is null or cardinality(rns) = cardinality(specs),
                                'It must have as many elements as specs.');
    perform twin.check_name('rns', rn) from unnest(rns) rn;
    perform twin.check_argument('specs', spec <> 'null', 'No element may be null.') from unnest(specs) spec;

    for request in
        select queue, spec, priority, rn, null::timestamptz, null::text[], 'cascade', null::text, null::int, null::jsonb, null::text,
               null::text, null::jsonb, null::interval
        from rows from (unnest(specs), unnest(rns)) with ordinality _(spec, rn, place) order by place
    loop
        if room is null then
            perform twin.need_queue(queue);
            room := twin.taken(queue, cardinality(specs));
        end if;
        t := (twin.admit(request, 'error', clock_timestamp())).t;
        perform case when room > 0 then twin.placed(t, t.created) else twin.shed(t, t.created) end;
        room := room - 1;
    end loop;
    perform twin.settle();
    return cardinality(specs);
end $$;

-- Queues

create function twin.check_retention(name text, value interval) returns void language sql as $$
    select twin.check_argument(name, value is null or value between '0' and '36500 days', 'It must be 0 to 36500 days.');
$$;

-- A delay between two tries.
create function twin.check_delay(name text, value interval) returns void language sql as $$
    select twin.check_argument(name, value between '0' and '365 days', 'It must be 0 to 365 days.');
$$;

-- A value inside an object, as text.
create function twin.member(value jsonb, name text, json_type text) returns text language plpgsql as $$
begin
    perform twin.check_argument(name, jsonb_typeof(value) = json_type, format('It must be a %s.', json_type));
    return value #>> '{}';
end $$;

create function twin.member_interval(value jsonb, name text) returns interval language plpgsql as $$
begin
    return twin.member(value, name, 'string')::interval;
exception when invalid_datetime_format or datetime_field_overflow or interval_field_overflow then
    perform twin.refuse_argument(name, 'It must be a number of seconds, or numbers with units, the largest first, as "90", "1.5 hours", "1 day 2 hours" or "PT30M".');
end $$;

-- How to wait between tries: null or an object, all members of which are optional.
create function twin.check_retry(retry jsonb) returns void language plpgsql as $$
declare
    name text;
    value jsonb;
begin
    perform twin.check_argument('retry', retry is null or jsonb_typeof(retry) = 'object', 'It must be an object.');
    for name, value in select * from jsonb_each(retry) r where r.value <> 'null' or r.key not in ('initial', 'max', 'factor', 'jitter') loop
        case when name in ('initial', 'max') then
            perform twin.check_delay(name, twin.member_interval(value, name));
        when name = 'factor' then
            perform twin.check_argument(name, twin.member(value, name, 'number')::numeric between 1 and 1000,
                                        'It must be 1 to 1000.');
        when name = 'jitter' then
            perform twin.check_argument(name, twin.member(value, name, 'number')::numeric between 0 and 1,
                                        'It must be 0 to 1.');
        else
            perform twin.refuse_argument('retry', 'There is no such member.');
        end case;
    end loop;
end $$;

-- How many tasks the turn of each key has: an object. The empty key is that of tasks without a key, * stands for all others.
create function twin.check_key_weights(weights jsonb) returns void language plpgsql as $$
declare
    key text;
    value jsonb;
    weight numeric;
begin
    perform twin.check_argument('key_weights', weights is null or jsonb_typeof(weights) = 'object', 'It must be an object.');
    for key, value in select * from jsonb_each(weights) loop
        if key <> '' then
            perform twin.check_name('key_weights', key);
        end if;
        weight := twin.member(value, 'key_weights', 'number');
        perform twin.check_argument('key_weights', weight = trunc(weight) and weight between 1 and 1000, 'It must be 1 to 1000.');
    end loop;
end $$;

-- So many tasks in so much time, and how many of them at once: an object.
create function twin.check_rate(rate jsonb) returns void language plpgsql as $$
declare
    name text;
    value jsonb;
    tasks numeric;
    burst numeric := 1;
    per interval := '1 s';
begin
    perform twin.check_argument('rate', rate is null or jsonb_typeof(rate) = 'object', 'It must be an object.');
    for name, value in select * from jsonb_each(rate) r where r.value <> 'null' or r.key not in ('tasks', 'burst', 'per') loop
        case name
        when 'tasks' then tasks := twin.member(value, name, 'number');
        when 'burst' then burst := twin.member(value, name, 'number');
        when 'per' then
            per := twin.member_interval(value, name);
            perform twin.check_timeout(name, per);
        else
            perform twin.refuse_argument('rate', 'There is no such member.');
        end case;
    end loop;
    perform twin.check_argument('rate', rate is null or tasks = trunc(tasks) and tasks >= 1 and burst = trunc(burst) and burst >= 1,
                                'Its tasks and burst must be at least 1.');
    perform twin.check_argument('rate', rate is null or extract(epoch from twin.length(per)) between tasks / 1000000
                                                                                             and tasks / burst * 315360000,
                                'It must be at most a million tasks per second, and its burst must come in ten years.');
end $$;

create function twin.check_settings(q twin.queue) returns void language plpgsql as $$
begin
    perform twin.check_timeout('default_timeout', q.default_timeout);
    perform twin.check_timeout('run_timeout', q.run_timeout);
    perform twin.check_retention('retention', q.retention);
    perform twin.check_argument('aging', q.aging between 0 and 1000, 'It must be 0 to 1000 points per second.');
    perform twin.check_argument('max_attempts', q.max_attempts is null or q.max_attempts >= 1, 'It must be at least 1.');
    perform twin.check_retry(q.retry);
    perform twin.check_retention('retention_completed', q.retention_completed);
    perform twin.check_retention('retention_aborted', q.retention_aborted);
    perform twin.check_retention('retention_cancelled', q.retention_cancelled);
    perform twin.check_argument('paused', q.paused is not null, 'It must be true or false.');
    perform twin.check_argument('max_running', q.max_running is null or q.max_running >= 1, 'It must be at least 1.');
    perform twin.check_argument('max_running_per_key', q.max_running_per_key is null or q.max_running_per_key >= 1,
                                'It must be at least 1.');
    perform twin.check_argument('max_depth', q.max_depth is null or q.max_depth >= 1, 'It must be at least 1.');
    perform twin.check_argument('on_full', q.on_full in ('error', 'shed'), 'It must be error or shed.');
    perform twin.check_key_weights(q.key_weights);
    perform twin.check_rate(q.rate);
    perform twin.check_argument('events', q.events is not null, 'It must be true or false.');
    perform twin.check_argument('notify', q.notify is not null, 'It must be true or false.');
end $$;

-- Whose turn it is in a queue that is shared between keys is not undone by a rollback, nor is a sequence: of its number the last
-- ten bits say how many tasks are left of the turn, and the others are the bytes of the key, of which there may be six.
create function twin.place_of_turn(queue text) returns text language sql as $$
    select format('twin.%I', 'turn ' || md5(queue));
$$;

create function twin.turn(queue text, out key text, out remaining int) language plpgsql as $$
declare
    number bigint;
begin
    execute 'select last_value from ' || twin.place_of_turn(queue) into number;
    key := convert_from(rtrim(substring(int8send(number >> 10) from 3), '\x00'::bytea), 'UTF8');
    remaining := number & 1023;
end $$;

create function twin.set_turn(queue text, key text, remaining int) returns void language sql as $$
    select setval(twin.place_of_turn(queue)::regclass,
                  (('x' || rpad(encode(convert_to(key, 'UTF8'), 'hex'), 12, '0'))::bit(48)::bigint << 10) | remaining);
$$;

create function twin.made_queue(q twin.queue) returns void language plpgsql as $$
begin
    insert into twin.queue select q.*;
    insert into twin.changed values (q.name, pg_current_xact_id(), pg_current_xact_id());
    execute 'create sequence ' || twin.place_of_turn(q.name) || ' minvalue 0 start 0';
end $$;

create function twin.create_queue(queue text, default_timeout interval default null, retention interval default null,
                                  aging float8 default 0, max_attempts int default null, retry jsonb default null,
                                  retention_completed interval default null, retention_aborted interval default null,
                                  retention_cancelled interval default null, paused boolean default false,
                                  max_running int default null, events boolean default false,
                                  notify boolean default false, max_running_per_key int default null,
                                  max_depth int default null, on_full text default 'error',
                                  key_weights jsonb default null, rate jsonb default null,
                                  rate_per_key jsonb default null, handler text default null,
                                  run_timeout interval default null)
    returns void language plpgsql as $$
declare
    q twin.queue := (queue, default_timeout, retention, coalesce(aging, 0), max_attempts, retry, retention_completed,
                     retention_aborted, retention_cancelled, coalesce(paused, false), max_running, coalesce(events, false),
                     coalesce(notify, false), max_running_per_key, max_depth, coalesce(on_full, 'error'), key_weights, rate,
                     rate_per_key, handler, run_timeout);
begin
    perform twin.check_name('queue', queue);
    perform twin.check_settings(q);
    if exists (select from twin.queue e where e.name = queue) then
        perform twin.refuse('42710', 'queue', 'unique', format('queue "%s" already exists', queue));
    end if;
    perform twin.made_queue(q);
end $$;

create function twin.known_queue(name text) returns twin.queue language plpgsql as $$
declare
    q twin.queue;
begin
    perform twin.check_name('queue', name);
    select * into q from twin.queue e where e.name = known_queue.name;
    if q.name is null then
        perform twin.refuse('42704', 'queue', 'exists', format('queue "%s" does not exist', name));
    end if;
    return q;
end $$;

-- With all settings as they are unless somebody says otherwise.
create function twin.new_queue(name text) returns twin.queue language sql as $$
    select row(name, null, null, 0, null, null, null, null, null, false, null, false, false, null, null, 'error', null, null, null, null, null)::twin.queue;
$$;

-- A setting that is named has the new value, or with null its default; the others stay.
create function twin.altered(q twin.queue, settings jsonb) returns twin.queue language plpgsql as $$
declare
    name text;
    value jsonb;
begin
    for name, value in select * from jsonb_each(settings) loop
        value := nullif(value, 'null');
        case name
        when 'default_timeout' then q.default_timeout := case when value is not null then twin.member_interval(value, name) end;
        when 'retention' then q.retention := case when value is not null then twin.member_interval(value, name) end;
        when 'aging' then q.aging := case when value is null then 0 else twin.member(value, name, 'number')::float8 end;
        when 'max_attempts' then q.max_attempts := twin.element_int(settings, name);
        when 'retry' then q.retry := value;
        when 'retention_completed' then
            q.retention_completed := case when value is not null then twin.member_interval(value, name) end;
        when 'retention_aborted' then
            q.retention_aborted := case when value is not null then twin.member_interval(value, name) end;
        when 'retention_cancelled' then
            q.retention_cancelled := case when value is not null then twin.member_interval(value, name) end;
        when 'paused' then
            q.paused := case when value is null then false else twin.member(value, name, 'boolean')::boolean end;
        when 'max_running' then q.max_running := twin.element_int(settings, name);
        when 'max_running_per_key' then q.max_running_per_key := twin.element_int(settings, name);
        when 'max_depth' then q.max_depth := twin.element_int(settings, name);
        when 'on_full' then q.on_full := case when value is null then 'error' else twin.member(value, name, 'string') end;
        when 'key_weights' then q.key_weights := value;
        when 'rate' then q.rate := value;
        when 'events' then
            q.events := case when value is null then false else twin.member(value, name, 'boolean')::boolean end;
        when 'notify' then
            q.notify := case when value is null then false else twin.member(value, name, 'boolean')::boolean end;
        else
            perform twin.refuse_argument('settings', 'There is no such setting.');
        end case;
    end loop;
    perform twin.check_settings(q);
    return q;
end $$;

-- Settings that bound a queue, or share it, are pending where there was none, until somebody maintains after the transaction; but not
-- in the transaction that made the queue.
create function twin.is_pending(queue text, setting text) returns boolean language sql as $$
    select exists (select from twin.pending p where p.queue = is_pending.queue and p.setting = is_pending.setting);
$$;

create function twin.end_pending() returns void language sql as $$
    delete from twin.pending p using twin.changed c where c.queue = p.queue and c.by <> pg_current_xact_id();
$$;

create function twin.note_change(was twin.queue, now twin.queue) returns void language plpgsql as $$
declare
    before jsonb := jsonb_strip_nulls(to_jsonb(was));
    after jsonb := jsonb_strip_nulls(to_jsonb(now));
begin
    update twin.changed c set by = pg_current_xact_id() where c.queue = now.name;
    delete from twin.pending p where p.queue = now.name and not after ? p.setting;
    insert into twin.pending
    select now.name, setting
    from unnest('{max_running,max_running_per_key,max_depth,key_weights}'::text[]) setting
    where after ? setting and not before ? setting
      and not exists (select from twin.changed c where c.queue = now.name and c.made_by = pg_current_xact_id());
end $$;

create function twin.alter_queue(queue text, settings jsonb) returns void language plpgsql as $$
declare
    was twin.queue;
    q twin.queue;
begin
    perform twin.check_name('queue', queue);
    perform twin.check_argument('settings', jsonb_typeof(settings) = 'object', 'It must be an object.');
    perform twin.altered(twin.new_queue(''), settings);
    was := twin.known_queue(queue);
    q := twin.altered(was, settings);
    perform twin.note_change(was, q);
    update twin.queue e
    set default_timeout = q.default_timeout, retention = q.retention, aging = q.aging, max_attempts = q.max_attempts,
        retry = q.retry, retention_completed = q.retention_completed, retention_aborted = q.retention_aborted,
        retention_cancelled = q.retention_cancelled, paused = q.paused, max_running = q.max_running,
        events = q.events, notify = q.notify, max_running_per_key = q.max_running_per_key,
        max_depth = q.max_depth, on_full = q.on_full, key_weights = q.key_weights, rate = q.rate
    where e.name = q.name;
end $$;

create function twin.pause_queue(queue text) returns void language sql as $$
    select twin.note_change(q, q) from twin.known_queue(queue) q;
    update twin.queue e set paused = true where e.name = (twin.known_queue(queue)).name;
$$;

create function twin.resume_queue(queue text) returns void language sql as $$
    select twin.note_change(q, q) from twin.known_queue(queue) q;
    update twin.queue e set paused = false where e.name = (twin.known_queue(queue)).name;
$$;

-- With its tasks, if that is what is wanted: who depends on a live one, and its plan, go on as if it were cancelled. (The extension does
-- that, and removes the tasks, when it next maintains; the driver has it do so at once. It leaves out drops of queues whose tasks
-- have ended and are still needed elsewhere: the results stay for a while.)
create function twin.drop_queue(queue text, force boolean default false) returns void language plpgsql as $$
begin
    perform twin.check_name('queue', queue);
    force := coalesce(force, false);
    perform twin.known_queue(queue);
    if not coalesce(force, false) and exists (select from twin.task t where t.queue = drop_queue.queue) then
        perform twin.refuse('2BP01', 'queue', 'empty', format('queue "%s" has tasks', queue));
    end if;
    update twin.queue q set events = false where q.name = drop_queue.queue; -- nobody follows it any more
    delete from twin.pending p where p.queue = drop_queue.queue;
    delete from twin.changed c where c.queue = drop_queue.queue;
    execute 'drop sequence ' || twin.place_of_turn(queue);
    perform twin.ended(l.t, 'cancelled')
    from (select t from twin.task t where t.queue = drop_queue.queue and twin.is_live(t) order by t.id) l;
    perform twin.settle();
    delete from twin.task t where t.queue = drop_queue.queue;
    delete from twin.queue q where q.name = drop_queue.queue;
end $$;

-- A queue comes into being with its first task, unless the setting forbids it.
create function twin.need_queue(queue text) returns void language plpgsql as $$
begin
    if exists (select from twin.queue q where q.name = queue) then
        return;
    end if;
    if not coalesce(nullif(current_setting('scylla.auto_create_queues', true), '')::boolean, true) then
        perform twin.refuse('42704', 'queue', 'exists', format('queue "%s" does not exist', queue));
    end if;
    perform twin.check_argument('queue', queue !~ '^\s|\s$', 'It must not begin or end with a blank.');
    perform twin.made_queue(twin.new_queue(queue));
end $$;

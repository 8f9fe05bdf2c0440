# shellcheck shell=bash disable=SC2034
# Sourced by test/model/run.

remember='t.timeout := coalesce(twin.length(timeout), t.timeout); t.deadline := t.updated + t.timeout;'

# Faults for the self-test: "what is wrong|sed command for the twin".
faults=(
  "youngest first|s/moment) desc, r.id$/moment) desc, r.id desc/"
  "lowest priority first|s/moment) desc, r.id$/moment), r.id/"
  "waiting gains nothing|s/least(t.priority + aging \* waited, 255)/t.priority/"
  "waiting gains without bound|s/least(t.priority + aging \* waited, 255)/t.priority + aging * waited/"
  "an attempt does not count|s/t.attempt := t.attempt + 1;//"
  "no fence for attempts|s/ and t.attempt = coalesce(holds.attempt, t.attempt)//"
  "no fence for workers|s/ and t.owner = worker and t.attempt/ and t.attempt/"
  "a heartbeat's own timeout is remembered|/t.deadline := t.updated + coalesce/s/.*/$remember/"
  "a year has 365.25 days|s/ - extract(year from i) \* 5.25 \* 86400//"
  "history keeps 49 entries|s/jsonb_array_length(entries) < 50/jsonb_array_length(entries) < 49/"
  "the marker forgets its count|s/using twin.stands_for(entries -> 10) + 1/using 2::bigint/"
  "errors are kept without bound|s/twin.errors_with(t, reported)/t.errors || reported/"
  "times out of UTC|s/t.updated at time zone 'UTC'/t.updated/"
  "one failure too many is allowed|s/t.failures >= t.max_attempts/t.failures > t.max_attempts/"
  "a yield is noted as a retry|s/'TaskYield'/'TaskRetry'/"
  "an expired lease keeps its owner|s/^            t.owner := null;//"
  "backoff of factor 3|s/'factor', '2'/'factor', '3'/"
  "backoff without end|s/ if grown < extract.*/ if true then/"
  "the policy of the queue is ignored|s/(select q.retry from/(select null::jsonb from/"
  "the policy of the task is ignored|s/coalesce(t.retry, (select q.retry from/coalesce(null, (select q.retry from/"
  "the bound of the queue is ignored|s/(select q.max_attempts from/(select null::int from/"
  "one more may run|s/then q.max_running end - /then q.max_running + 1 end - /"
  "tasks without a key are bounded together|s/r.key = t.key)/r.key is not distinct from t.key)/;s/ and t.key is not null$//"
  "one more of a key may run|s/r.key = t.key) >= bound/r.key = t.key) > bound/"
  "a full key holds up the others|s/continue when twin.is_full(t);/exit when twin.is_full(t);/"
  "one more may wait|s/greatest(q.max_depth - /greatest(q.max_depth + 1 - /"
  "who is only waiting takes no room|s/t.status in ('waiting', 'ready') and t.id <> all/t.status = 'ready' and t.id <> all/"
  "a batch that is too large is let in in part|s/if room < wanted and q.on_full = 'error' then/if room = 0 and q.on_full = 'error' then/"
  "the first of a batch are shed|s/of_queue\[twin.taken(name, cardinality(of_queue), new) + 1 :\]/of_queue[: cardinality(of_queue) - twin.taken(name, cardinality(of_queue), new)]/"
  "what is shed was aborted|/queue-full/,/^end/s/'cancelled'/'aborted'/"
  "a shared queue goes by its order|s/while allowed > 0 and q.key_weights is not null and .* loop/while false loop/"
  "all keys weigh the same|s/coalesce(q.key_weights -> follows, .*::int - 1/0/"
  "tasks without a key have no turn|s/array(select distinct coalesce(t.key, '') from twin.task t/array(select distinct t.key from twin.task t/"
  "the first key goes on and on|s/order by key collate \"C\" <= turn.key, key/order by key/"
  "who has nothing keeps the turn|s/perform twin.set_turn(q.name, turn.key, 0);/null;/"
  "a rate changes nothing|s/select q.rate is null from/select true from/"
  "a pause changes nothing|s/select q.paused from/select false from/"
  "altering resets the rest|s/q := twin.altered(was, settings);/q := twin.altered(twin.new_queue(queue), settings);/"
  "a task due is not opened|s/w.status = 'waiting' and w.due <= clock_timestamp()/false/"
  "retention of the queue is ignored|s/ q.retention, twin.setting/ null, twin.setting/"
  "retention goes by no ending|s/then q.retention_completed/then null::interval/"
  "a repetition in complete_many is passed over|s/completed := twin.holds/completed := not exists (select from twin.batch(rns) b where b.rn = wanted.rn and b.place < wanted.place) and twin.holds/"
  "a repetition in heartbeat_many counts|s/held := wanted.rn <> all (extended) and /held := /"
  "a repetition in complete_and_lease is not judged|s/from twin.batch(rns, attempts) order by rn collate .C., place) w;/from twin.batch(rns, attempts) where false) w;/"
  "a delayed task is ready at once|s/if t.not_before > moment and t.attempt = 0 then/if false then/"
  "created with the transaction's clock|s/moment timestamptz := clock_timestamp();/moment timestamptz := now();/"
  "spec comes back to the owner|s/shown.spec := null;//"
  "JSON null is null|s/t.result := result;/t.result := nullif(result, 'null');/"
  # gates
  "nobody waits for tasks|s/ d (id) join twin.task p using (id) where twin.is_live(p))/ d (id) where false)/"
  "nobody waits for a plan|s/p.id = t.plan and p.opened is null/false/"
  "opening a plan opens nothing|s/ or w.plan = h.plan)/)/"
  "cascade cancels|s/t.skipped := t.on_failure = 'skip';/t.skipped := true;/"
  "skip aborts|s/t.skipped := t.on_failure = 'skip';/t.skipped := false;/"
  "ignore is ignored|s/if t.on_failure <> 'ignore' then/if true then/"
  "a cancelled provider is as good as a completed one|s/where p.status in ('aborted', 'cancelled') and/where p.status = 'aborted' and/"
  "the last of several failures is named|s/order by place limit 1;/order by place desc limit 1;/"
  "one of several failures at once is named at will|s/p.id = coalesce(cause, p.id)/true/"
  "args in the order of age|s/jsonb_agg(p.result order by place)/jsonb_agg(p.result order by p.id)/"
  "args without those that have none|s/(id, place) left join twin.task p/(id, place) join twin.task p/"
  "the time is forgotten behind a gate|s/if t.not_before > moment and t.attempt = 0 then/if t.not_before > moment and t.depends_on = '{}' then/"
  "results are purged while somebody needs them|s/ and not twin.is_needed(t.id)//"
  "those who depend on a queue that goes wait for ever|s/twin.is_live(t) order by t.id) l;/false) l;/"
  "a setting is in effect at once|s/insert into twin.pending$/insert into twin.pending select null, null where false; insert into twin.pending/;s/and not before ? setting$/and false/"
  # plans
  "a plan does not fail|s/set failed = p.failed or exists (select .*/set failed = false,/"
  "a cancelled task makes a plan fail|s/t.plan = p.id and t.status = 'aborted')/t.plan = p.id and t.status <> 'completed')/"
  "a plan whose tasks were cancelled is a success|s/t.status = 'cancelled' and not t.skipped/false/"
  "a plan is cancelled though it has failed|s/cancelled = p.cancelled and not p.failed/cancelled = p.cancelled/"
  "a plan forgets its tasks with their queue|s/= p.failed or exists/= exists/;s/= p.cancelled or exists/= exists/"
  "a plan is never finished|s/perform twin.finish(coalesce(h.plan, .*/null;/"
  "cancelling a plan cancels one task after the other|s/count(twin.ended(l.t, 'cancelled'))/count((twin.cancel((l.t).rn)).rn)/"
  "a plan that is finished can be added to|s/if p.finished is not null then/if p.cancelled then/"
  "all tasks are final|s/where d.plan = p.id and t.id = any (d.depends_on))/where false)/"
  "running tasks count for nothing|s/then 1 else t.progress end/then 1 else 0 end/"
  "tasks of a plan are purged one by one|s/where twin.is_over(t, moment) and not exists .*/where twin.is_over(t, moment)/"
  "a plan is purged before its tasks|s/and not exists (select from twin.task t where t.plan = p.id and not twin.is_over(t, moment));/;/"
  "an empty plan goes with the next purge|s/else twin.setting('scylla.retention', '7 days') end/else '0' end/"
  # deduplication
  "a deduplication key does nothing|s/t := twin.holder(r.queue, r.dedup_key);/t := null;/"
  "a deduplication key counts in all queues|s/t.queue = holder.queue and t.dedup_key/t.dedup_key/"
  "a deduplication key is taken for ever|s/t.dedup_key = holder.dedup_key and twin.is_live(t);/t.dedup_key = holder.dedup_key;/"
  "a key that is taken comes before a name that is|s/    select \\* into t from twin.task where task.rn = r.rn;/t := twin.holder(r.queue, r.dedup_key);/"
  # submit_many
  "a circle is accepted|s/from reached r where r.* = r.other/from reached r where false/"
  "only names of existing tasks count|s/array_position(array(select n.rn from unnest(requests) n), d.rn))/null)/"
  "one plan that has ended is overlooked|s/where r.plan is not null order by r.plan/where false order by r.plan/"
  # conditions
  "a wait does not look back|s/ order by e.seq desc limit 1;/ and false limit 1;/"
  "a wait takes the oldest signal|s/ order by e.seq desc limit 1;/ order by e.seq limit 1;/"
  "a signal does not look for those who wait|s/ and c.ended is null and twin.fits(c.match, s.params)/ and false/"
  "any signal will do|s/ and c.ended is null and twin.fits(c.match, s.params)/ and c.ended is null/"
  "texts match numbers|s/(params -> name) is not distinct from wanted/(params ->> name) is not distinct from (wanted #>> '{}')/"
  "a request_id means nothing|s/ and e.request_id = send_signal.request_id;/ and false;/"
  "a callback has two outcomes|s/    if c.ended is not null then/    if false then/"
  "nobody waits for callbacks|s/(select case when c.ended is null then 'closed' when/(select case when/"
  "what an on_failure ignores ends the task|s/if how = 'failed' and g.on_failure = 'ignore' then/if false then/"
  "a gate does not time out|s/or g.deadline > moment then/or true then/"
  "skip after a timeout aborts|s/case when late then g.on_timeout else g.on_failure end/case when late then 'abort' else g.on_failure end/"
  "values without those of conditions|s/    if t.depends_on = '{}' then/    awaited := '[]'; if t.depends_on = '{}' then/"
  "a value that comes late is not shown|s/case when not c.failed then c.value else p.result end/case when not c.failed and g.deadline is null then c.value else p.result end/"
  "a deferred task keeps what it waited for|s/^    delete from twin.gate g where g.task = t.id;//"
  "a deferred task forgets its state|s/t.state := coalesce(defer.state, t.state);/t.state := defer.state;/"
  "a task may wait for itself|s/ and twin.waits_for(w.provider, t.id);/ and false;/"
  "not yet is in the history|s/case when reason is null then t.earlier/case when reason is null then t.history/"
  "not yet is not counted|s/t.answers := t.answers + 1;//"
  "not yet is a failure|s/first_failure.failures := 1;/first_failure.failures := 1; t.failures := t.failures + 1;/"
  "a task that has run waits for its first time|s/if t.not_before > moment and t.attempt = 0 then/if t.not_before > moment then/"
  # events
  "what waits for its time after its gates is not told|s/if (t.status, t.due) is distinct from (before.status, before.due)/if t.status <> before.status/"
  "all queues have events|s/where q.name = t.queue and q.events;/where q.name = t.queue;/"
  "events stay|s/^    delete from twin.event .*//"
)

# The seed that finds a fault, where the first does not. It is tried first, which is half of the time that the self-test takes; the
# others are tried after it.
declare -A found_by=(
  ["waiting gains nothing"]=2
  ["waiting gains without bound"]=2
  ["a heartbeat's own timeout is remembered"]=2
  ["retention of the queue is ignored"]=2
  ["created with the transaction's clock"]=2
  ["one of several failures at once is named at will"]=2
  ["who has nothing keeps the turn"]=8
  ["a deduplication key does nothing"]=2
  ["a deduplication key is taken for ever"]=2
)

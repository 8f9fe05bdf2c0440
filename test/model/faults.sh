# shellcheck shell=bash disable=SC2034
# Sourced by test/model/run.

remember='t.timeout := coalesce(twin.length(timeout), t.timeout); t.deadline := t.updated + t.timeout;'

# Faults for the self-test: "subject of the runs that find it|what is wrong|sed command for the twin".
faults=()
faults_in() { # SUBJECT FAULT...
  local subject=$1 fault
  shift
  for fault; do faults+=("$subject|$fault"); done
}

verbs=(
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
  # events
  "what waits for its time after its gates is not told|s/if (t.status, t.due, t.in_line) is distinct from .* then/if t.status <> before.status then/"
  "all queues have events|s/where q.name = t.queue and q.events;/where q.name = t.queue;/"
  "events stay|s/^    delete from twin.event .*//"
)

conditions=(
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
  "a task may wait for itself|s/ and twin.waits_for(g.provider, t.id);/ and false;/"
  "not yet is in the history|s/case when reason is null then t.earlier/case when reason is null then t.history/"
  "not yet is not counted|s/t.answers := t.answers + 1;//"
  "not yet is a failure|s/first_failure.failures := 1;/first_failure.failures := 1; t.failures := t.failures + 1;/"
  "a task that has run waits for its first time|s/if t.not_before > moment and t.attempt = 0 then/if t.not_before > moment then/"
  # checks
  "equal checks are not shared|s/ and c.spec = question and / and false and /"
  "a check with other decimals is another check|s/ and c.spec = question and / and c.spec::text = question::text and /"
  "a check that has ended is joined|s/ and twin.is_live(c) and c.id <> waiter.id;/ and c.id <> waiter.id;/"
  "a check outlives its last waiter|s/if wanted is null then/if false then/"
  "a check is asked as seldom as anybody wants|s/select min(w.every) from/select max(w.every) from/"
  "a check is asked as its retry policy says|s/case when t.is_check then twin.check_interval(t.id) end, //"
  "a check is not asked sooner|s/perform twin.ask_sooner(asked, moment);/null;/"
  "a check that has failed is asked sooner|s/ and c.answered = c.updated;/;/"
  "a check keeps the priority of the first who waits|s/elsif wanted > asked.priority then/elsif false then/"
)

pools=(
  "what a task held is kept when it ends|/of an end$/d"
  "a retry keeps what it holds|/of an attempt$/d"
  "a deferred task keeps what it holds|/of a deferral$/d"
  "a yield gives up what the task holds|s/if reason is distinct from 'TaskYield' then/if true then/"
  "more is placed than fits|s/(w.amount = 0 or w.amount <= l.amount) and not l.stopped/not l.stopped/"
  "what equals what is free does not fit|s/(w.amount = 0 or w.amount <= l.amount) and/(w.amount = 0 or w.amount < l.amount) and/"
  "nothing needs room, too|s/(w.amount = 0 or w.amount <= l.amount) and/w.amount <= l.amount and/"
  "what is placed takes nothing for the next|s/update twin.left_over l set amount = l.amount - w.amount/update twin.left_over l set amount = l.amount/"
  "small tasks pass the first of a strict pool|s/update twin.left_over o set stopped = true/update twin.left_over o set stopped = false/"
  "a greedy pool stops, too|s/where o.policy = 'strict' and o.pool in/where o.pool in/"
  "a drained pool is used|s/p.drained or twin.is_stale(p)/twin.is_stale(p)/"
  "an old report is good enough|s/p.drained or twin.is_stale(p)/p.drained/"
  "a task that can never fit stops the line|s/not l.closed and v.amount <= l.capacity, false/true, false/"
  "priority does not count in line|s/over (order by twin.effective_priority(t, moment) desc, t.created, t.id)/over (order by t.created, t.id)/"
  "waiting in line gains nothing|s/over (order by twin.effective_priority(t, moment) desc/over (order by t.priority desc/"
  "the youngest comes first in line|s/desc, t.created, t.id), t.id, t.needs/desc, t.created desc, t.id desc), t.id, t.needs/"
  "the tasks of a paused queue are placed|s/where t.in_line and not twin.is_paused(t.queue)/where t.in_line/"
  "another task delays the head|s/then 'would delay the head' end/then null end/"
  "nothing may run past the start of the head|s/ - needed < n.amount$/ - needed < n.amount + 1000/"
  "a head is passed without end|s/when h.passed >= l.max_bypass then/when false then/"
  "a head is passed once more|s/when h.passed >= l.max_bypass then/when h.passed > l.max_bypass then/"
  "how often a head was passed is forgotten|s/and e.task = of_task), 0)/and false), 0)/"
  "the head of a strict line is planned|s/ and not way.behind then twin.plan_start/ then twin.plan_start/"
  "a report counts for nothing|s/coalesce((p.reported ->> c.key)::numeric, 0) + h.later/0/"
  "a report hides what was placed after it|s/::numeric, 0) + h.later)/::numeric, 0))/"
  "a report is added to what tasks hold|s/filter (where r.since > p.reported_at), 0)/, 0)/"
  "an old report replaces a newer one|s/if p.reported_at >= at then/if false then/"
  "of several pools the last is taken|s/group by w.n, w.chosen order by w.n$/group by w.n, w.chosen order by w.n desc/"
  "a task waits for all of several pools|s/needs -> 'any') with ordinality a (pool, n)$/needs -> 'any') with ordinality a (pool, n) where n = 1/"
  "who needs several pools shows one|s/when (select count(\\*) from jsonb_object_keys(needs)) = 1 then (select k from jsonb_object_keys(needs) k) end/when true then (select min(k) from jsonb_object_keys(needs) k) end/"
  "only the line of the pool is looked at|s/on p.policy <> 'greedy' and p.name in/on false and p.name in/"
  "a pool that is needed can go|s/twin.is_live(t) and pool in (select twin.pools_in(t.needs))/false/"
  "needs have no bound|s/bool_and(twin.could_serve([^)]*))/true/"
  "a capacity of 0 refuses|s/(p.capacity -> resource)::numeric = 0 or //"
  "altering resets the rest of a pool|s/p := twin.altered_pool(twin.known_pool(pool), /p := twin.altered_pool(p, /"
  "what a task needs does not hold it back|s/t := twin.startable(t);$/t.status := 'ready'; t.due := null;/"
  "what gets in line is not told|s/if (t.status, t.due, t.in_line) is distinct from .* then/if (t.status, t.due) is distinct from (before.status, before.due) then/"
)

faults_in verbs "${verbs[@]}"
faults_in conditions "${conditions[@]}"
faults_in pools "${pools[@]}"

# The seed that finds a fault, or finds it much sooner, where the first does not. It is tried first, and the others after it.
declare -A found_by=(
  ["waiting gains nothing"]=2
  ["waiting gains without bound"]=2
  ["a heartbeat's own timeout is remembered"]=2
  ["retention of the queue is ignored"]=2
  ["created with the transaction's clock"]=2
  ["one of several failures at once is named at will"]=2
  ["who has nothing keeps the turn"]=5
  ["a deduplication key does nothing"]=2
  ["a deduplication key is taken for ever"]=2
  ["a request_id means nothing"]=2
  ["what an on_failure ignores ends the task"]=6
  ["a deferred task keeps what it waited for"]=5
  ["a task may wait for itself"]=8
  ["a task that has run waits for its first time"]=5
  ["a deferred task keeps what it holds"]=2
  ["nothing needs room, too"]=9
  ["the head of a strict line is planned"]=39
  ["a drained pool is used"]=2
  ["a task that can never fit stops the line"]=2
)

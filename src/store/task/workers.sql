-- count() -> many WorkerCount (queue int4, workers int8)
-- How many workers have tasks of each queue that has any.
select queue, count(distinct owner) as workers from scylla.task_lease group by queue order by queue;

-- ahead() -> many Ahead (what text, ahead int8, owner name, viewers text[]?, admins text[]?)
-- What was changed at a time that is still to come, as scylla.stat_clock shows it, by who may see it.
select what, ahead, owner, viewers, admins from scylla._stat_clock;

-- Calls of the API as the owner of a schedule.

-- create_plan(plan text, spec jsonb) !caller
select count(*) from scylla.create_plan(:plan, :spec);

-- submit_many(tasks jsonb) !caller
select count(*) from scylla.submit_many(:tasks, 'error');

-- open_plan(plan text) !caller
select count(*) from scylla.open_plan(:plan);

-- run_job(request jsonb) !caller
select count(*)
from scylla.run_job(:request ->> 'job', (:request ->> 'ids')::int8multirange, :request -> 'args',
                    :request -> 'options');

-- cancel(task text) !caller
select count(*) from scylla.cancel(:task);

-- cancel_plan(plan text) !caller
select count(*) from scylla.cancel_plan(:plan);

-- What pg_dump --data-only wrote of a database with Scylla 0.1: tasks in every state, plans, limits, keys, a schedule.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
COPY scylla.queue (id, name, created, default_timeout, retention, aging, max_attempts, retry, retention_completed, retention_aborted, retention_cancelled, paused, max_running, events, notify, max_running_per_key, max_depth, on_full, key_weights, rate, rate_per_key, owner, submitters, workers, viewers, admins) FROM stdin;
1	settings	2026-11-22 16:50:04.852151+00	01:00:00	30 days	0	\N	\N	\N	\N	\N	f	\N	f	f	\N	\N	error	\N	\N	\N	postgres	\N	\N	\N	\N
2	q	2026-11-22 16:50:04.852774+00	\N	\N	0	\N	\N	\N	\N	\N	f	\N	f	f	\N	\N	error	\N	\N	\N	postgres	\N	\N	\N	\N
3	limited	2026-11-22 16:50:04.864779+00	\N	\N	0	\N	\N	\N	\N	\N	f	3	t	f	2	100	error	{"a": 2}	\N	\N	postgres	\N	\N	\N	\N
\.
COPY scylla.schedule (name, owner, home, cron, timezone, task, overlap, catch_up, grace, max_catch_up, jitter, starts, ends, planned_key, created, handled, next_run, last_run, last_submitted, last_task, runs, skipped, missed, last_error, failed) FROM stdin;
nightly	postgres	7711039132092878032/16384	30 2 * * *	Europe/Berlin	{"spec": {"report": 1}, "queue": "q"}	allow	latest	01:00:00	100	00:00:00	\N	\N	\N	2026-11-22 16:50:04.869975+00	2026-11-22 16:50:04.86929+00	2026-11-23 01:30:00+00	\N	\N	\N	0	0	0	\N	\N
\.
COPY scylla.task_dedup (queue, id, key) FROM stdin;
3	12	once
\.
COPY scylla.task_gate (task, provider, ord, kind, on_failure) FROM stdin;
15	14	0	p	c
16	14	0	p	c
16	15	1	t	c
17	6	1	t	s
17	5	2	t	s
19	18	0	p	c
20	18	0	p	c
20	19	1	t	c
\.
COPY scylla.task_lease (id, deadline, leased, updated, timeout, queue, attempt, failures, progress, owner, history, errors, permit) FROM stdin;
5	2026-11-22 21:50:04.855276+00	2026-11-22 16:50:04.855113+00	2026-11-22 16:50:04.855276+00	3600000000	1	2	0	0.25	w2	[{"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.854829+00:00", "worker": "w1", "attempt": 1, "progress": 0}, {"_typ": "TaskYield", "time": "2026-11-22T16:50:04.854982+00:00", "worker": "w1", "attempt": 1, "progress": 0}]	\N	\N
11	2026-11-23 02:50:04.866409+00	2026-11-22 16:50:04.866409+00	2026-11-22 16:50:04.866409+00	36000000000	3	1	0	0	w	\N	\N	a
13	2026-11-23 02:50:04.866409+00	2026-11-22 16:50:04.866409+00	2026-11-22 16:50:04.866409+00	36000000000	3	1	0	0	w	\N	\N	a
\.
COPY scylla.task_outcome (id, finished, leased, queue, attempt, failures, progress, status, owner, history, errors, result, metrics) FROM stdin;
6	2026-11-22 16:50:04.85571+00	2026-11-22 16:50:04.855566+00	2	1	0	1	completed	w	\N	\N	{"answer": 42}	{"seconds": 1.5}
7	2026-11-22 16:50:04.856406+00	2026-11-22 16:50:04.856121+00	2	1	0	0.5	aborted	w	\N	[{"args": {}, "code": "broken", "description": ""}]	\N	\N
8	2026-11-22 16:50:04.856804+00	2026-11-22 16:50:04.856673+00	2	1	0	0	cancelled	w	\N	\N	\N	\N
9	2026-11-22 16:50:04.85708+00	\N	2	0	0	0	cancelled	\N	\N	\N	\N	\N
\.
COPY scylla.task_plan (id, created, opened, finished, cancelled, failed, owner, name, spec) FROM stdin;
14	2026-11-22 16:50:04.866832+00	\N	\N	f	f	postgres	plan	\N
18	2026-11-22 16:50:04.867813+00	2026-11-22 16:50:04.868405+00	\N	f	f	postgres	open	\N
\.
COPY scylla.task_ready (id, updated, queue, attempt, failures, priority, history, errors, key) FROM stdin;
1	2026-11-22 16:50:04.852808+00	2	0	0	7	\N	\N	\N
2	2026-11-22 16:50:04.853503+00	2	0	0	0	\N	\N	\N
10	2026-11-22 16:50:04.864392+00	2	60	60	0	[{"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.857557+00:00", "worker": "l1", "attempt": 1, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.857817+00:00", "worker": "l1", "attempt": 1, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.857846+00:00", "worker": "l2", "attempt": 2, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.857881+00:00", "worker": "l2", "attempt": 2, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.857901+00:00", "worker": "l3", "attempt": 3, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.857931+00:00", "worker": "l3", "attempt": 3, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.857949+00:00", "worker": "l4", "attempt": 4, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.857973+00:00", "worker": "l4", "attempt": 4, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.857994+00:00", "worker": "l5", "attempt": 5, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.858203+00:00", "worker": "l5", "attempt": 5, "progress": 0}, {"_typ": "HistoryElided", "count": 71}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.861892+00:00", "worker": "l41", "attempt": 41, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.861955+00:00", "worker": "l42", "attempt": 42, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.862022+00:00", "worker": "l42", "attempt": 42, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.862090+00:00", "worker": "l43", "attempt": 43, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.862147+00:00", "worker": "l43", "attempt": 43, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.862212+00:00", "worker": "l44", "attempt": 44, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.862270+00:00", "worker": "l44", "attempt": 44, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.862334+00:00", "worker": "l45", "attempt": 45, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.862401+00:00", "worker": "l45", "attempt": 45, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.862466+00:00", "worker": "l46", "attempt": 46, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.862524+00:00", "worker": "l46", "attempt": 46, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.862592+00:00", "worker": "l47", "attempt": 47, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.862650+00:00", "worker": "l47", "attempt": 47, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.862724+00:00", "worker": "l48", "attempt": 48, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.862791+00:00", "worker": "l48", "attempt": 48, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.862857+00:00", "worker": "l49", "attempt": 49, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.862916+00:00", "worker": "l49", "attempt": 49, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.862981+00:00", "worker": "l50", "attempt": 50, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.863045+00:00", "worker": "l50", "attempt": 50, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.863110+00:00", "worker": "l51", "attempt": 51, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.863178+00:00", "worker": "l51", "attempt": 51, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.863245+00:00", "worker": "l52", "attempt": 52, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.863306+00:00", "worker": "l52", "attempt": 52, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.863372+00:00", "worker": "l53", "attempt": 53, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.863433+00:00", "worker": "l53", "attempt": 53, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.863505+00:00", "worker": "l54", "attempt": 54, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.863576+00:00", "worker": "l54", "attempt": 54, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.863645+00:00", "worker": "l55", "attempt": 55, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.863706+00:00", "worker": "l55", "attempt": 55, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.863785+00:00", "worker": "l56", "attempt": 56, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.863848+00:00", "worker": "l56", "attempt": 56, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.863916+00:00", "worker": "l57", "attempt": 57, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.863988+00:00", "worker": "l57", "attempt": 57, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.864057+00:00", "worker": "l58", "attempt": 58, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.864119+00:00", "worker": "l58", "attempt": 58, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.864189+00:00", "worker": "l59", "attempt": 59, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.864252+00:00", "worker": "l59", "attempt": 59, "progress": 0}, {"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.864321+00:00", "worker": "l60", "attempt": 60, "progress": 0}, {"_typ": "TaskTimeout", "time": "2026-11-22T16:50:04.864392+00:00", "worker": "l60", "attempt": 60, "progress": 0}]	\N	\N
12	2026-11-22 16:50:04.865622+00	3	0	0	0	\N	\N	b
19	2026-11-22 16:50:04.868405+00	2	0	0	0	\N	\N	\N
\.
COPY scylla.task_spec (id, created, queue, priority, rn, spec, not_before, max_attempts, gates, plan, retry, dedup_key, key) FROM stdin;
1	2026-11-22 16:50:04.852808+00	2	7	ready	{"n": 1}	\N	\N	\N	\N	\N	\N	\N
2	2026-11-22 16:50:04.853503+00	2	0	wüst "ready"' \\	{"text": "ärgerlich \\"quoted\\"\\\\ \\t"}	\N	3	\N	\N	\N	\N	\N
3	2026-11-22 16:50:04.853734+00	1	0	waiting	[1, null, {"a": []}]	2026-11-23 16:50:04.853645+00	\N	\N	\N	\N	\N	\N
4	2026-11-22 16:50:04.854036+00	2	0	retried	3	\N	\N	\N	\N	\N	\N	\N
5	2026-11-22 16:50:04.854673+00	1	0	running	4	\N	5	\N	\N	\N	\N	\N
6	2026-11-22 16:50:04.855442+00	2	127	completed	5	\N	\N	\N	\N	\N	\N	\N
7	2026-11-22 16:50:04.855979+00	2	0	aborted	6	\N	\N	\N	\N	\N	\N	\N
8	2026-11-22 16:50:04.856541+00	2	0	cancelled	7	\N	\N	\N	\N	\N	\N	\N
9	2026-11-22 16:50:04.85695+00	2	0	cancelled while ready	8	\N	\N	\N	\N	\N	\N	\N
10	2026-11-22 16:50:04.857217+00	2	0	long	9	\N	\N	\N	\N	\N	\N	\N
11	2026-11-22 16:50:04.865212+00	3	0	l1	1	\N	\N	\N	\N	\N	\N	a
12	2026-11-22 16:50:04.865622+00	3	0	l2	2	\N	\N	\N	\N	\N	once	b
13	2026-11-22 16:50:04.866224+00	3	0	l3	3	\N	\N	\N	\N	\N	\N	a
15	2026-11-22 16:50:04.867085+00	2	0	p1	1	\N	\N	1	14	\N	\N	\N
16	2026-11-22 16:50:04.86746+00	2	0	p2	2	\N	\N	2	14	\N	\N	\N
17	2026-11-22 16:50:04.867664+00	2	0	after	3	\N	\N	2	\N	\N	\N	\N
19	2026-11-22 16:50:04.867937+00	2	0	o1	1	\N	\N	1	18	\N	\N	\N
20	2026-11-22 16:50:04.868162+00	2	0	o2	2	\N	\N	2	18	\N	\N	\N
\.
COPY scylla.task_waiting (id, due, updated, queue, attempt, failures, history, errors) FROM stdin;
3	2026-11-23 16:50:04.853645+00	2026-11-22 16:50:04.853734+00	1	0	0	\N	\N
4	2026-11-22 19:50:04.854513+00	2026-11-22 16:50:04.854513+00	2	1	1	[{"_typ": "TaskAssignment", "time": "2026-11-22T16:50:04.854216+00:00", "worker": "w", "attempt": 1, "progress": 0}, {"_typ": "TaskRetry", "time": "2026-11-22T16:50:04.854513+00:00", "worker": "w", "attempt": 1, "progress": 0}]	[{"args": {"x": 1}, "code": "later", "description": "try again"}]
15	\N	2026-11-22 16:50:04.867085+00	2	0	0	\N	\N
16	\N	2026-11-22 16:50:04.86746+00	2	0	0	\N	\N
17	\N	2026-11-22 16:50:04.867664+00	2	0	0	\N	\N
20	\N	2026-11-22 16:50:04.868162+00	2	0	0	\N	\N
\.
SELECT pg_catalog.setval('scylla.queue_id_seq', 3, true);
SELECT pg_catalog.setval('scylla.task_id_seq', 21, true);
SELECT pg_catalog.setval('scylla.worker_seq', 1, true);

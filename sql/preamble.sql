-- Scylla: a task queue and workflow engine inside PostgreSQL.
--
-- make assembles this script from the files under sql/, one file per concept (see TABLES and REPLACED in the Makefile).
\echo Use "CREATE EXTENSION scylla" to load this file. \quit

create schema scylla;
comment on schema scylla is 'Scylla, a task queue and workflow engine: tasks, plans, schedules and workflows';


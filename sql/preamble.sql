-- Scylla: a task scheduler inside PostgreSQL.
--
-- This script is assembled by make from the files under sql/, one file per concept (see SQL_PARTS in the Makefile).
\echo Use "CREATE EXTENSION scylla" to load this file. \quit

create schema scylla;
comment on schema scylla is 'Scylla, a task scheduler: submit, lease, heartbeat and finish tasks';


-- From 0.1 to 0.2: what `create or replace` cannot do. make puts this before all functions and views of the present version
-- (REPLACED in the Makefile), so this holds changes of tables, and drops what has another signature or other columns now.
\echo Use "ALTER EXTENSION scylla UPDATE" to load this file. \quit

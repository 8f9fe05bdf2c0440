-- Transactions of other sessions.

-- prepared(database int8) -> many (id int8)
-- The prepared transactions of a database.
select transaction::text::int8 as id from pg_prepared_xact() where dbid = :database;

-- Whole lives of tasks in one transaction that is repeatable read.
begin isolation level repeatable read;
\ir include/helpers.psql
select * from no_plan();
\ir include/one_life.psql
select is(current_setting('transaction_isolation'), 'repeatable read', 'the transaction is repeatable read');
select all_is_sound();
select * from finish();
rollback;

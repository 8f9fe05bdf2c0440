-- Whole lives of tasks in one transaction that is serializable.
begin isolation level serializable;
\ir include/helpers.psql
select * from no_plan();
\ir include/one_life.psql
select is(current_setting('transaction_isolation'), 'serializable', 'the transaction is serializable');
select all_is_sound();
select * from finish();
rollback;

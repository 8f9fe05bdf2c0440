-- The expression language of workflows: see docs/expressions.md.

create or replace function scylla.sel_eval(expression text, params jsonb = '{}') returns jsonb
    language c volatile parallel safe as 'MODULE_PATHNAME', 'scylla_sel_eval';
comment on function scylla.sel_eval is
'The value of an expression. It can use its parameters and its own library, and nothing of the database.
  expression  at most 10,000 characters
  params      an object; its members are the parameters
Errors: 42601 syntax; 42704 no such method, class or parameter; 22023 bad argument, or a value that does not fit; P0001 the expression
threw it; 54000 one of the limits on steps, time, memory, depth, loops, arrays and the result; 0A000 the database is not in UTF8. They
name line and column.';

create or replace function scylla.interpolate(template text, params jsonb = '{}') returns text
    language c immutable parallel safe as 'MODULE_PATHNAME', 'scylla_interpolate';
comment on function scylla.interpolate is
'A text in which $name and ${name} are replaced by parameters, and $$ by $. Arrays and objects become JSON. What is put in is not
looked through again.
  params  an object; its members are the parameters
Errors: 42704 no such parameter; 22023 bad argument; 54000 the result is too long; 0A000 the database is not in UTF8. They name line
and column.';

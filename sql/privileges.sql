-- Nothing is for everybody. Grant USAGE on the schema and EXECUTE on the functions that a role needs.
revoke all on schema scylla from public;
revoke all on all tables in schema scylla from public;
revoke all on all sequences in schema scylla from public;
revoke all on all routines in schema scylla from public;

select scylla._announce();

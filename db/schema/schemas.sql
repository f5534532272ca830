-- The schemas. PUBLIC has no rights in them.

create schema dex_private;
comment on schema dex_private is 'Derived data that the service does not publish: sums, the standing book, and the views that public views build on.';
grant usage on schema dex_private to dex_reader, dex_writer;

create schema ingest;
comment on schema ingest is 'The only functions that write, and their staging tables.';
grant usage on schema ingest to dex_writer;

-- By default PostgreSQL lets every role execute a new function; here execution needs a grant.
alter default privileges revoke execute on functions from public;

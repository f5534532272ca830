-- The schemas, and what PUBLIC may do in them: nothing.

create schema dex_private;
comment on schema dex_private is 'What the service keeps and does not publish: sums, the standing book, and the views that others build on.';
grant usage on schema dex_private to dex_reader, dex_writer;

create schema ingest;
comment on schema ingest is 'The one door: the only functions that write, and the tables that rows are copied into for them.';
grant usage on schema ingest to dex_writer;

-- PostgreSQL lets everybody execute a new function. Here a function is for whom it is granted to.
alter default privileges revoke execute on functions from public;

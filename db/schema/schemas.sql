-- The schemas. PUBLIC has no rights in them.

-- In Turkish and Azeri, LINKDAI and linkdai would be two names.
do $$
begin
  if upper('i') <> 'I' or lower('I') <> 'i' then
    raise exception 'The locale of this database writes i in capitals as %, so symbols in any letter case would not be found: create the database with another locale, such as C.UTF-8', upper('i');
  end if;
end
$$;

create schema dex_private;
comment on schema dex_private is 'Derived data that the service does not publish: sums, the standing book, and the views that public views build on.';
grant usage on schema dex_private to dex_reader, dex_writer;

create schema ingest;
comment on schema ingest is 'The only functions that write, and their staging tables.';
grant usage on schema ingest to dex_writer;

-- By default PostgreSQL lets every role execute a new function; here execution needs a grant.
alter default privileges revoke execute on functions from public;

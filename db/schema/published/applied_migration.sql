-- Which migrations a database has.

-- The service, which only reads, waits on a database that lacks one.
create view dex_private.applied_migration as
select
  migration.filename,
  migration.date,
  migration.hash
from graphile_migrate.migrations as migration;
comment on view dex_private.applied_migration is 'The committed migrations that this database has.';
grant select on dex_private.applied_migration to dex_reader;

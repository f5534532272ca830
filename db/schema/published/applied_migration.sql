-- The applied migrations of a database.

-- The service, which only reads, waits while the database lacks a migration.
create view dex_private.applied_migration as
select
  migration.filename,
  migration.date,
  migration.hash
from graphile_migrate.migrations as migration;
comment on view dex_private.applied_migration is 'The committed migrations that are applied to this database.';
grant select on dex_private.applied_migration to dex_reader;

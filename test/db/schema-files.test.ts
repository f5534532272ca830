// The files of db/schema and the migrations create the same schema.
import { makeRoles } from "../../db/create-roles.ts";
import { readSchema } from "../../db/schema.ts";
import { schemaOf } from "../database-contents.ts";
import { makeDatabase, openClient } from "../database.ts";

it("the migrations create the schema of the files in db/schema", async () => {
  await using migrated = await makeDatabase();
  await using written = await makeDatabase({ migrated: false });
  await makeRoles(migrated.url);
  await makeRoles(written.url);
  await written.owner.query(`
      create schema graphile_migrate;
      create table graphile_migrate.migrations (
        hash text,
        previous_hash text,
        filename text,
        date timestamptz not null default now()
      )
    `);
  await written.owner.query(await readSchema());

  const [fromMigrations, fromFiles] = await Promise.all(
    [migrated, written].map(async ({ url }) => {
      await using client = await openClient(url);
      return await schemaOf(client);
    }),
  );
  expect(fromFiles).toEqual(fromMigrations);
});

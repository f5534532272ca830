// The files of db/schema and the migrations create the same schema.
import { connect } from "../../db/connect.ts";
import { readCatalog } from "../../db/check/catalog.ts";
import { makeRoles } from "../../db/roles.ts";
import { readSchema } from "../../db/schema.ts";
import { makeDatabase } from "../database.ts";

const SCHEMAS = ["public", "dex_private", "ingest"];

it("the migrations create the schema of the files in db/schema", async () => {
  const migrated = await makeDatabase();
  const written = await makeDatabase({ migrated: false });
  try {
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
        const client = await connect(url);
        try {
          return await readCatalog(client, SCHEMAS);
        } finally {
          await client.end();
        }
      }),
    );
    expect(fromFiles).toEqual(fromMigrations);
  } finally {
    await migrated.drop();
    await written.drop();
  }
});

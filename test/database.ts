// Makes a test database: a clone of the migrated template.
import { randomBytes } from "node:crypto";
import { connect, makePool, urlForDatabase, type Pool, type Role } from "../db/connect.ts";
import { TEMPLATE } from "./cluster-setup.ts";

export interface TestDatabase {
  /** The superuser's URL. */
  url: string;
  /** The service's role. */
  reader: Pool;
  /** The loader's role. */
  writer: Pool;
  /** The migrations' role. */
  owner: Pool;
  /** Deletes all data. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

/** The superuser's URL of the server's maintenance database. */
export function clusterUrl(): string {
  const url = process.env["TEST_CLUSTER_URL"];
  if (url === undefined) throw new Error("test/cluster-setup.ts has not run");
  return url;
}

/** Clones the migrated template, or with `migrated: false` an empty database. */
export async function makeDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const name = `dex_test_${randomBytes(6).toString("hex")}`;
  const admin = await connect(clusterUrl());
  const template = migrated ? TEMPLATE : "template0";
  await admin.query(`create database ${name} template ${template}`);
  await admin.end();

  const url = urlForDatabase(clusterUrl(), name);
  const pools: Pool[] = [];
  const poolOf = (role: Role): Pool => {
    const pool = makePool(url, { role, poolSize: 5 });
    pools.push(pool);
    return pool;
  };
  const owner = poolOf("dex_owner");
  return {
    url,
    reader: poolOf("dex_reader"),
    writer: poolOf("dex_writer"),
    owner,
    async empty() {
      await owner.query(
        "truncate dex_trade, dex_offer, dex_block, dex_pair, dex_token, dex_private.cancellation restart identity",
      );
      await owner.query("delete from dex_private.write_state");
      await owner.query("select ingest.rebuild()");
    },
    async drop() {
      await Promise.all(pools.map((pool) => pool.end()));
      const client = await connect(clusterUrl());
      await client.query(`drop database ${name} with (force)`);
      await client.end();
    },
  };
}

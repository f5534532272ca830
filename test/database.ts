// Makes a test database: a clone of the migrated template.
import { randomBytes } from "node:crypto";
import {
  connect,
  makePool,
  urlForDatabase,
  type Database,
  type Pool,
  type Role,
} from "../db/connect.ts";
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
    // A slow machine takes long to open a connection.
    const pool = makePool(url, { role, poolSize: 5, waitMs: 60_000 });
    pools.push(pool);
    return pool;
  };
  const owner = poolOf("dex_owner");
  return {
    url,
    reader: poolOf("dex_reader"),
    writer: poolOf("dex_writer"),
    owner,
    empty: () => emptyExchange(owner),
    async drop() {
      await Promise.all(pools.map((pool) => pool.end()));
      const client = await connect(clusterUrl());
      await client.query(`drop database ${name} with (force)`);
      await client.end();
    },
  };
}

/** Deletes all data, as dex_owner or a superuser. */
export async function emptyExchange(owner: Database): Promise<void> {
  // A service may still read for a client that is gone: it expects the writer's state, so this is one transaction,
  // and it may wait for this, and this for it.
  await untilNoDeadlock(() =>
    owner.query(`
      truncate dex_trade, dex_offer, dex_block, dex_pair, dex_token, dex_private.cancellation restart identity;
      delete from dex_private.write_state;
      select ingest.rebuild();
    `),
  );
}

async function untilNoDeadlock(act: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await act();
      return;
    } catch (error) {
      if ((error as { code?: string }).code !== "40P01") throw error;
    }
  }
}

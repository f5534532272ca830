// A service that is mirrored, and databases that mirror it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "../../../db/connect.ts";
import { exportDays } from "../../../db/export/export-days.ts";
import { follow, type FollowEvent } from "../../../db/mirror/follower.ts";
import { loadFiles, type LoadedFiles } from "../../../db/mirror/load-files.ts";
import { makeTestApp, type TestApp, type TestOptions } from "../../app.ts";
import { makeDatabase, type TestDatabase } from "../../database.ts";

export interface Mirrored {
  origin: TestDatabase;
  mirror: TestDatabase;
  app: TestApp;
  /** The folder of files that the origin serves. */
  dir: string;
  export: () => Promise<void>;
  /** By a new folder, or another one. */
  load: (url?: string, dir?: string) => Promise<LoadedFiles>;
  /** Follows until the head is written, or until an event is enough. */
  catchUp: (url?: string, isEnough?: (event: FollowEvent) => boolean) => Promise<FollowEvent[]>;
}

const isWrittenToHead = (event: FollowEvent): boolean =>
  event.event === "written" && event.isAtHead;

/** An origin and an empty mirror, for all tests of a file. */
export function useMirrored(
  fill: (origin: TestDatabase) => Promise<unknown>,
  settings: TestOptions = {},
): Mirrored {
  const made = {} as Mirrored;
  let downloads = "";
  beforeAll(async () => {
    made.origin = await makeDatabase();
    made.mirror = await makeDatabase();
    made.dir = await mkdtemp(join(tmpdir(), "dex-origin-"));
    downloads = await mkdtemp(join(tmpdir(), "dex-mirror-"));
    await fill(made.origin);
    made.app = await makeTestApp(made.origin.reader, { ...settings, filesDir: made.dir });
    made.origin.beforeDrop(made.app.close);
  });
  afterAll(async () => {
    await made.mirror.drop();
    await made.origin.drop();
    await rm(made.dir, { recursive: true });
    await rm(downloads, { recursive: true });
  });
  made.export = async () => {
    await exportDays({ url: made.origin.url, dir: made.dir, finality: 0 });
  };
  made.load = async (url = `${made.app.url}/v2/files/`, given?: string) => {
    const client = await connect(made.mirror.url, { role: "dex_writer" });
    try {
      const dir = given ?? (await mkdtemp(join(downloads, "files-")));
      return await loadFiles({ client, url, dir, maxDayBytes: 10_000_000, pauseMs: 1 });
    } finally {
      await client.end();
    }
  };
  made.catchUp = async (url = made.app.url, isEnough = isWrittenToHead) => {
    const stop = new AbortController();
    const events: FollowEvent[] = [];
    const onEvent = (event: FollowEvent): void => {
      events.push(event);
      if (isEnough(event)) stop.abort();
    };
    const { url: database } = made.mirror;
    await follow({ url: database, origin: url, signal: stop.signal, onEvent, firstPauseMs: 1 });
    return events;
  };
  return made;
}

export async function headOf({
  reader,
}: TestDatabase): Promise<{ block: number; digest: string } | undefined> {
  const { rows } = await reader.query<{ block: number; digest: string }>(
    "select block, digest from dex_head",
  );
  return rows[0];
}

/** All that a database has, but for ids of trades, parents and what follows from registrations. */
export async function digestsOf({ reader }: TestDatabase): Promise<unknown[]> {
  const { rows } = await reader.query(
    "select number, hash, time, dex_block_digest(block) as digest from dex_block as block where has_rows order by number",
  );
  return rows;
}

/** What readers see of it. */
export async function figuresOf({ reader }: TestDatabase): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const text of [
    "select * from dex_market order by pair",
    "select * from dex_summary order by pair",
    "select block, idx, market, act, maker, taker, lot_gem, lot_tkn, lot_amt, bid_gem, bid_tkn, bid_amt, price, time, tx, venue from dex_trade order by id",
    "select block, killed, market, act, maker, lot_gem, lot_tkn, lot_amt, bid_gem, bid_tkn, bid_amt, price, time, tx, venue, ref, filled, closed, ended from dex_offer order by block, tx, ref, id",
    "select * from dex_pool order by venue",
    "select * from dex_pool_state order by block, venue",
  ]) {
    found.push((await reader.query(text)).rows);
  }
  return found;
}

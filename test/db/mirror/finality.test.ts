// An origin says which of its blocks are final, by its FINALITY: its mirror takes back all others with it.
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../../db/connect.ts";
import { commonBlock, lastBlock } from "../../../db/mirror/common-block.ts";
import { follow } from "../../../db/mirror/follower.ts";
import { Origin } from "../../../db/mirror/origin.ts";
import { hours } from "../../factories.ts";
import type { TestDatabase } from "../../database.ts";
import { digestsOf, headOf, useMirrored } from "./following.ts";

const mirrored = useMirrored(() => Promise.resolve(), { finality: 200 });

beforeEach(async () => {
  for (const database of [mirrored.origin, mirrored.mirror]) {
    await database.empty();
    await database.owner.query("delete from dex_private.index_source");
  }
});

interface Answer {
  rows: unknown[];
}

/** Blocks of a cancellation each. */
const writeBlocks = (from: number, to: number, offer = 0): Promise<unknown> =>
  mirrored.origin.writer.query(
    "select ingest.write_block(number => number, at => $3::timestamptz + number * interval '1 minute', killed => array[$4 + number]) from generate_series($1::integer, $2::integer) as number",
    [from, to, hours(0), offer],
  );

async function saidFinal(): Promise<unknown> {
  const answer = await fetch(`${mirrored.app.url}/v2/blocks?from=0&limit=1`);
  return ((await answer.json()) as { data: { final: unknown } }).data.final;
}

async function finalIn({ reader }: TestDatabase): Promise<unknown> {
  const { rows } = await reader.query<{ number: number }>(
    "select number from dex_private.final_block(null)",
  );
  return rows[0]?.number;
}

it.each([
  ["in the mirror as the origin says, and takes back what is not", 1, 300, 100, 180],
  ["none where the origin says so, and takes back all", 1, 150, null, 1],
  ["none of a short history from block 0 on", 0, 30, null, -1],
  [
    "none of a history from block 0 on that is longer than what is final by default",
    0,
    150,
    null,
    1,
  ],
])("has final blocks %s", async (_, first, head, final, to) => {
  await writeBlocks(first, head);
  expect(await saidFinal()).toBe(final);
  await mirrored.catchUp();
  expect(await finalIn(mirrored.mirror)).toBe(final ?? undefined);

  await mirrored.origin.writer.query("select ingest.take_back($1::integer)", [to]);
  await writeBlocks(to + 1, head + 1, 1000);
  const events = await mirrored.catchUp();
  expect(events).toContainEqual({ event: "taken back", to, from: head });
  expect(await headOf(mirrored.mirror)).toEqual(await headOf(mirrored.origin));
  expect(await digestsOf(mirrored.mirror)).toEqual(await digestsOf(mirrored.origin));
});

it("stays as the origin has said where an indexer is recorded later", async () => {
  await writeBlocks(1, 300);
  await mirrored.catchUp();
  const { writer } = mirrored.mirror;
  await writer.query("select ingest.write_block(2000, now())");
  expect(await finalIn(mirrored.mirror)).toBe(100);
  await writer.query("select ingest.begin_index(5, '0x1', 'book', 1, 'event')");
  expect(await finalIn(mirrored.mirror)).toBe(100);
});

it("has no final blocks below the first one with rows where the origin says so", async () => {
  const { origin, mirror } = mirrored;
  await origin.writer.query("select ingest.begin_index(5, '0x1', 'book', 0, 'event')");
  await writeBlocks(10, 19);
  expect(await saidFinal()).toBe(null);
  await mirrored.catchUp();
  expect(await finalIn(mirror)).toBe(undefined);

  await origin.writer.query("select ingest.take_back(-1)");
  await writeBlocks(6, 25, 1000);
  await mirrored.catchUp();
  expect(await digestsOf(mirror)).toEqual(await digestsOf(origin));
  // An indexer that begins anywhere up to the first block with rows goes on, and no other.
  const begin = (first: number): Promise<unknown> =>
    mirror.writer.query("select ingest.begin_index(5, '0x1', 'book', $1, 'event')", [first]);
  await expect(begin(7)).rejects.toThrow("the database was filled from first block 6, not 7");
  await begin(6);
  await begin(0);
});

it("learns that blocks are final without a new one", async () => {
  const { origin, mirror } = mirrored;
  await origin.writer.query("select ingest.begin_index(5, '0x1', 'book', 0, 'event')");
  await writeBlocks(0, 300);
  await mirrored.catchUp();
  expect(await finalIn(mirror)).toBe(undefined);
  const stop = new AbortController();
  const { url } = mirrored.app;
  const following = follow({ url: mirror.url, origin: url, signal: stop.signal, firstPauseMs: 1 });
  await origin.writer.query("select ingest.checked_to(90, 80)");
  while ((await finalIn(mirror)) !== 90) await sleep(20);
  stop.abort();
  await following;
});

it("goes on with an origin that gives its rules anew after both have taken back all blocks", async () => {
  const { origin, mirror } = mirrored;
  const begin = (taker: string): Promise<unknown> =>
    origin.writer.query("select ingest.begin_index(5, '0x1', 'book', 0, $1)", [taker]);
  await begin("event");
  await writeBlocks(0, 10);
  await mirrored.catchUp();
  for (const { writer } of [origin, mirror]) await writer.query("select ingest.take_back(-1)");
  await begin("sender");
  await writeBlocks(0, 10);
  await mirrored.catchUp();
  expect(await digestsOf(mirror)).toEqual(await digestsOf(origin));
});

interface Shape {
  seconds?: number;
  /** Hexadecimal. Without it, the block has no hash. */
  branch?: string;
  /** Without it, the block has no rows. */
  killed?: number;
}

const writeBlock = (
  number: number,
  { seconds = number * 60, branch, killed }: Shape = {},
): Promise<unknown> =>
  mirrored.origin.writer.query(
    "select ingest.write_block($1, $2::timestamptz + $3 * interval '1 second', $4, killed => $5)",
    [
      ...[number, hours(0), seconds],
      branch === undefined ? null : `0x${(branch + String(number)).padStart(64, "0")}`,
      killed === undefined ? [] : [killed],
    ],
  );

const blocksOf = async ({ reader }: TestDatabase): Promise<unknown[]> =>
  (await reader.query("select number, hash, time from dex_block order by number")).rows;

it.each([
  ["an earlier time", 50],
  ["a later one", 200],
])(
  "does not keep a block without rows that the origin has taken back, where the next has %s",
  async (_, seconds) => {
    const { origin, mirror } = mirrored;
    await writeBlocks(1, 10);
    await writeBlock(11, { seconds: 700 });
    await mirrored.catchUp();
    await origin.writer.query("select ingest.take_back(10)");
    await writeBlock(13, { seconds: 600 + seconds });
    await mirrored.catchUp();
    expect(await blocksOf(mirror)).toEqual(await blocksOf(origin));
  },
);

it.each([
  ["with one of the same number", [11, 12], [11], 14],
  ["with one of the same number and an earlier time", [11, 12], [11], 14, 601],
  ["with others between them", [11, 13], [11, 12], 14],
  ["with others of the same numbers", [11, 12, 13], [11, 12], 15],
  ["with others of other numbers", [11, 13], [12], 14],
])(
  "does not keep blocks without rows of a branch that the origin has left, %s",
  async (_, left, empty, next, seconds = 650) => {
    const { origin, mirror } = mirrored;
    for (let number = 1; number <= 10; number += 1) {
      await writeBlock(number, { branch: "a", killed: number });
    }
    for (const number of left) await writeBlock(number, { branch: "a" });
    await mirrored.catchUp();
    await origin.writer.query("select ingest.take_back(10)");
    for (const number of empty) {
      await writeBlock(number, { seconds: 600 + number / 100, branch: "b" });
    }
    await writeBlock(next, { seconds, branch: "b", killed: 20 });
    expect(await mirrored.catchUp()).toContainEqual({
      ...{ event: "taken back", to: 10, from: left.at(-1) },
    });
    expect(await blocksOf(mirror)).toEqual(await blocksOf(origin));
  },
);

it("keeps blocks without rows that the origin does not have any more because they are old", async () => {
  const { origin } = mirrored;
  await writeBlocks(1, 10);
  for (let number = 11; number <= 210; number += 1) await writeBlock(number);
  await mirrored.catchUp();
  await writeBlock(1500, { killed: 20 });
  expect(await blocksOf(origin)).toHaveLength(10 + 1);
  expect((await mirrored.catchUp()).map(({ event }) => event)).toEqual(["written"]);
});

it("keeps them also below blocks of a branch that the origin has left", async () => {
  await writeBlocks(1, 10);
  for (let number = 11; number <= 30; number += 1) await writeBlock(number);
  await writeBlock(31, { killed: 20 });
  await mirrored.catchUp();
  await mirrored.origin.writer.query("select ingest.take_back(30)");
  await writeBlock(31, { killed: 21 });
  await writeBlock(1500, { killed: 22 });
  expect(await mirrored.catchUp()).toContainEqual({ event: "taken back", to: 30, from: 31 });
});

it("takes back only those blocks without rows that the origin would still have", async () => {
  await writeBlocks(1, 10);
  for (let number = 11; number <= 30; number += 1) await writeBlock(number);
  await mirrored.catchUp();
  await mirrored.origin.writer.query("select ingest.take_back(10)");
  await writeBlock(1020, { killed: 20 });
  // The origin has deleted those below 1020 - 1000.
  expect(await mirrored.catchUp()).toContainEqual({ event: "taken back", to: 19, from: 30 });
});

it("still refuses an origin that takes back what it has said is final", async () => {
  await writeBlocks(1, 300);
  await mirrored.catchUp();
  await mirrored.origin.writer.query("select ingest.take_back(99)");
  await writeBlocks(100, 301, 1000);
  await expect(mirrored.catchUp()).rejects.toThrow(
    "the origin has other facts: at block 100, which is final here",
  );
});

it("finds the last block in common by a few rows of a long history", async () => {
  await writeBlocks(0, 150);
  await mirrored.catchUp();
  const { writer } = mirrored.origin;
  await writer.query("select ingest.take_back(40)");
  await writeBlocks(41, 150, 1000);
  const client = await connect(mirrored.mirror.url, { role: "dex_writer" });
  const query = jest.spyOn(client, "query");
  const origin = new Origin(mirrored.app.url);
  const head = await lastBlock(client);
  const signal = AbortSignal.timeout(60_000);
  const common = await commonBlock(client, origin, head!, signal);
  expect(common).toMatchObject({ own: { number: 40 }, shared: { number: 40 } });
  const answers = await Promise.all(
    query.mock.results.map(({ value }) => value as unknown as Promise<Answer>),
  );
  await client.end();
  // The head, and one for each of ⌈log2 151⌉ = 8 halves; none is final.
  expect(answers.reduce((sum, { rows }) => sum + rows.length, 0)).toBeLessThanOrEqual(1 + 8);
});

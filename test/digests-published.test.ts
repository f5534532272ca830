// SQL, REST, GraphQL and the event stream have the same digests, at the head and as of past blocks.
import { compareDigests, digestsOf } from "./digests.ts";
import { aTrade, blockAt, hours, registerMarkets, write } from "./factories.ts";
import { ask } from "./graphql.ts";
import { serveDatabase } from "./served.ts";

const { app, database } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, { trades: [1, 2, 3].map((hour) => aTrade({ hour })) });
  await database.owner.query(
    `insert into dex_private.index_source (chain_id, exchange, kind, first_block, taker, ranged_to, audited_to)
    values (1, '0xabc', 'matching-market', 0, 'sender', 0, 0)`,
  );
});

interface Block {
  block: number;
  hash: string | null;
  parent: string | null;
  time: string;
  digest: string;
  basis: Record<string, unknown>;
}

const head = async (query = ""): Promise<Block> => {
  const { body } = await app.request.get(`/v2/head${query}`).expect(200);
  return (body as { data: Block }).data;
};

const recorded = async (): Promise<Map<number, string>> => {
  await compareDigests(database.owner);
  const digests = await digestsOf(database.owner);
  return new Map(digests.map((one) => [one.number, `0x${one.recorded}`]));
};

const BASIS = {
  version: 1,
  firstBlock: blockAt(1),
  hashed: false,
  chainId: 1,
  exchange: "0xabc",
  kind: "matching-market",
  taker: "sender",
};

it("REST has that of the head and of past blocks, with what decides them", async () => {
  const digests = await recorded();
  expect(await head()).toEqual({
    block: blockAt(3),
    hash: null,
    parent: null,
    time: hours(3),
    digest: digests.get(blockAt(3)),
    basis: BASIS,
  });
  // No block is at the number: the last one below it.
  const past = await head(`?block=${blockAt(2) + 1}`);
  expect(past).toMatchObject({ block: blockAt(2), digest: digests.get(blockAt(2)), basis: BASIS });
  expect(await head(`?time=${hours(2)}`)).toEqual(past);
});

it("REST has a block by its number as GraphQL has, also as of a past block", async () => {
  const digests = await recorded();
  const block = async (path: string): Promise<unknown> =>
    ((await app.request.get(`/v2/block/${path}`).expect(200)).body as { data: Block }).data;
  const second = await head(`?block=${blockAt(2)}`);
  expect(second.digest).toBe(digests.get(blockAt(2)));
  // No block is at the second number: the last one below it.
  expect(await block(String(blockAt(2)))).toEqual(second);
  expect(await block(`${blockAt(2) + 5}/`)).toEqual(second);
  expect(await block(`${blockAt(2)}?block=${blockAt(2)}`)).toEqual(second);
  expect(await block(String(blockAt(3)))).toEqual(await head());

  const { data } = await ask<{ dexBlock: Block }>(
    app,
    "query ($n: Int!) { dexBlock(number: $n) { block: number hash parent digest } }",
    { n: blockAt(2) + 5 },
  );
  expect(second).toMatchObject(data!.dexBlock);
});

it.each([
  ["before the first block", "5", 3],
  ["after the head", String(blockAt(3) + 1), 3],
  ["after the past block that is asked for", `${blockAt(2) + 1}?block=${blockAt(2)}`, 2],
])("REST has no block %s, and says which there are", async (_which, path, last) => {
  const { body } = await app.request.get(`/v2/block/${path}`).expect(400);
  const at = (hour: number): string => `${blockAt(hour)}, of ${hours(hour).replace(".000Z", "Z")}`;
  expect((body as Error).message).toBe(
    `No such block: there are the blocks from ${at(1)}, to ${at(last)}`,
  );
});

it.each(["abc", "1.5", "01", "-1", "2147483648"])(
  "REST refuses %s as the number of a block",
  async (number) => {
    const { body } = await app.request.get(`/v2/block/${number}?number=${blockAt(1)}`).expect(400);
    expect((body as Error).message).toBe(
      "number must be an integer from 0 to 2147483647, given once and in digits only, without a leading zero",
    );
  },
);

it("REST answers with the same ETag while the head is the same", async () => {
  const { headers } = await app.request.get("/v2/head").expect(200);
  await app.request.get("/v2/head").set("if-none-match", String(headers["etag"])).expect(304);
});

it("GraphQL has that of the head and of blocks by number, also as of a past block", async () => {
  const digests = await recorded();
  const fields = "{ number time digest }";
  const block = (hour: number): object => ({
    number: blockAt(hour),
    time: hours(hour).replace(".000Z", ".000000+00:00"),
    digest: digests.get(blockAt(hour)),
  });
  const { data } = await ask<Record<string, unknown>>(
    app,
    `query ($n: Int!) {
      dexHead { block digest }
      last: dexBlock ${fields}
      one: dexBlock(number: $n) ${fields}
      dexDigestBasis { version firstBlock hashed chainId exchange kind taker }
    }`,
    { n: blockAt(2) + 5 },
  );
  expect(data).toEqual({
    dexHead: { block: blockAt(3), digest: digests.get(blockAt(3)) },
    last: block(3),
    one: block(2),
    dexDigestBasis: { ...BASIS, chainId: "1" },
  });
  const past = await ask<Record<string, unknown>>(
    app,
    `query ($n: Int!) @asOf(block: $n) { dexHead { digest } dexBlock ${fields} }`,
    { n: blockAt(2) },
  );
  expect(past.data).toEqual({
    dexHead: { digest: digests.get(blockAt(2)) },
    dexBlock: block(2),
  });
});

it.each([
  ["before the first block", "query ($n: Int!) { dexBlock(number: $n) { digest } }", 5],
  ["after the head", "query ($n: Int!) { dexBlock(number: $n) { digest } }", blockAt(3) + 1],
  [
    "after the past block that is asked for",
    `query ($n: Int!) @asOf(block: ${blockAt(2)}) { dexBlock(number: $n) { digest } }`,
    blockAt(2) + 1,
  ],
])("GraphQL has no block %s, and says which there are", async (_which, query, n) => {
  const { errors } = await ask(app, query, { n });
  const last = query.includes("asOf") ? 2 : 3;
  const at = (hour: number): string => `${blockAt(hour)}, of ${hours(hour).replace(".000Z", "Z")}`;
  expect(errors).toEqual([
    expect.objectContaining({
      message: `No such block: there are the blocks from ${at(1)}, to ${at(last)}`,
      extensions: { code: "NO_SUCH_BLOCK" },
    }),
  ]);
});

it("a registration changes no digest", async () => {
  const before = await head();
  await database.writer.query("select ingest.register_token($1, 'OTHER', 6)", [aTrade().lot_gem]);
  expect((await head()).digest).toBe(before.digest);
});

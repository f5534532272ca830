// What the chain calls final is believed when two answers say so, and a head when the node has it: one wrong answer stops
// nothing.
import { numberToHex } from "viem";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import {
  chainOf,
  EXCHANGE,
  startInventedNode,
  type Act,
  type Block,
  type Call,
  type InventedNode,
} from "./invented-chain.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await makeDatabase();
});
beforeEach(() => database.empty());
afterAll(() => database.drop());

const none = (length: number): Act[][] => Array.from({ length }, () => []);

it.each([
  ["one URL", 1, 1],
  ["two URLs, of which one is always wrong", 2, Infinity],
])("follows a reorganisation after a wrong answer of %s", async (_urls, urls, lies) => {
  const base = chainOf(none(21));
  const nodes = await Promise.all(
    Array.from({ length: urls }, () => startInventedNode([...base], 10)),
  );
  const [liar] = nodes;
  const indexing = startIndexing({
    ...{ databaseUrl: database.url, url: liar!.url, rpcUrls: nodes.map(({ url }) => url) },
    ...{ exchange: EXCHANGE, finality: undefined },
  });
  try {
    await indexing.wrote(20);
    let left = lies;
    liar!.lie = ({ method, params }: Call, truth) => {
      const isAsked = method === "eth_getBlockByNumber" && String(params[0]) === "finalized";
      if (!isAsked || left === 0) return truth;
      left -= 1;
      return liar!.blocks.at(-1)!.header;
    };
    const longer = chainOf(none(22), "", base);
    for (const node of nodes) node.blocks = longer;
    await indexing.wrote(21);
    const branch = chainOf(none(24), "other", base.slice(0, 18));
    for (const node of nodes) node.blocks = branch;
    await indexing.wrote(23);
    const { rows } = await database.owner.query("select hash from dex_block where number = 21");
    expect(rows).toEqual([{ hash: branch[21]!.header.hash }]);
  } finally {
    await indexing.stop().catch(() => undefined);
    await Promise.all(nodes.map((node) => node.stop()));
  }
});

it("names a start first where it stops for a reorganisation below what is final", async () => {
  const base = chainOf(none(21));
  const node = await startInventedNode([...base], 20);
  const indexing = startIndexing({
    ...{ databaseUrl: database.url, url: node.url, exchange: EXCHANGE, finality: undefined },
  });
  try {
    await indexing.wrote(20);
    node.blocks = chainOf(none(24), "other", base.slice(0, 18));
    await expect(indexing.ended).rejects.toThrow(
      /which is final.* Nothing was taken back. Start it again first: .* Otherwise/,
    );
  } finally {
    await indexing.stop().catch(() => undefined);
    await node.stop();
  }
});

describe("an answer that is wrong once", () => {
  let node: InventedNode;
  let indexing: Indexing;
  let finality: number | undefined;

  const begin = (): Indexing =>
    (indexing = startIndexing({
      ...{ databaseUrl: database.url, url: node.url, exchange: EXCHANGE, finality },
    }));

  beforeEach(async () => {
    finality = undefined;
    node = await startInventedNode(chainOf(none(120)), 19);
  });
  afterEach(async () => {
    await indexing.stop().catch(() => undefined);
    await node.stop();
  });

  function grow(length: number, branch = "", from = node.blocks.length): Promise<unknown> {
    node.blocks = chainOf(none(length), branch, node.blocks.slice(0, from));
    return indexing.wrote(length - 1);
  }

  const PLACES = ["while it follows the chain", "at a start"] as const;

  /** Answers so for this block so often; the chain grows by a block meanwhile. */
  async function lie(
    [tag, times, place]: readonly [string, number, (typeof PLACES)[number]],
    answer: (truth: Block) => unknown,
  ): Promise<void> {
    await begin().wrote(119);
    if (place === "at a start") await indexing.stop();
    const begun = Promise.withResolvers<unknown>();
    let left = times;
    node.lie = ({ method, params }: Call, truth) => {
      const isAsked = method === "eth_getBlockByNumber" && String(params[0]) === tag;
      if (!isAsked || left === 0) return truth;
      left -= 1;
      begun.resolve(undefined);
      return answer(truth as Block);
    };
    if (place === "at a start") begin();
    // Only another head lets it ask for the final block.
    if (tag === "latest") await begun.promise;
    await grow(121);
  }

  async function rangedTo(): Promise<number | undefined> {
    const { rows } = await database.owner.query<{ to: number }>(
      'select ranged_to as "to" from dex_private.index_source',
    );
    return rows[0]?.to;
  }

  describe.each(PLACES)("%s", (place) => {
    it.each<[string, () => unknown]>([
      ["no block", () => null],
      ["a refusal", () => new Error("internal error")],
      ["the head", () => node.blocks.at(-1)!.header],
      ["a block 65 below it", () => node.blocks.at(-66)!.header],
    ])("leaves final what the chain calls final: %s", async (_answer, answer) => {
      await lie(["finalized", 1, place], answer);
      expect(await rangedTo()).toBeLessThanOrEqual(19);
      await grow(123, "other", 40);
      node.finalized = 70;
      await grow(124);
      expect(await rangedTo()).toBe(70);
    });

    it.each([60, 10 ** 9])("is no head of the chain: %i blocks ahead", async (ahead) => {
      node.finalized = 50;
      await lie(["latest", 1, place], ({ number, ...rest }) => {
        node.finalized = 90;
        return { ...rest, number: numberToHex(Number(number) + ahead) };
      });
      expect(await rangedTo()).toBe(90);
      const known = indexing.events.map((event) => ("known" in event ? event.known : 0));
      expect(Math.max(...known)).toBe(120);
    });

    it.each(["0xb3", "0x3b9aca00", "0xffffffffffffffff"] as const)(
      "makes no block final by its depth: head %s",
      async (number) => {
        finality = 20;
        const hash = `0x${"ab".repeat(32)}`;
        await lie(["latest", 1, place], (truth) => ({ ...truth, number, hash }));
        await grow(125, "other", 116);
        expect(await rangedTo()).toBeLessThanOrEqual(104);
      },
    );
  });

  it("counts as one that is never right again: what is final stays so", async () => {
    await lie(["finalized", Infinity, PLACES[0]], () => null);
    await grow(123, "other", 40);
    expect(await rangedTo()).toBeLessThanOrEqual(19);
  });

  it("is no wrong one where the chain names no final block: 64 blocks are its finality", async () => {
    node.lie = ({ params }: Call, truth) =>
      String(params[0]) === "finalized" ? new Error("unknown block") : truth;
    await begin().wrote(119);
    expect(await rangedTo()).toBe(55);
  });
});

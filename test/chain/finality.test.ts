// What the chain calls final is believed when two answers say so: one wrong answer stops nothing.
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startIndexing } from "./indexing.ts";
import { chainOf, EXCHANGE, startInventedNode, type Act, type Call } from "./invented-chain.ts";

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

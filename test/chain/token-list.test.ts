// The tokens of a list make markets, and no others do.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getAddress } from "viem";
import { Registry } from "../../chain/index-registry.ts";
import { tempo } from "../../chain/exchanges/tempo.ts";
import type { Requests } from "../../chain/requests.ts";
import { ListedMarkets, readTokenList, type TokenList } from "../../chain/token-list.ts";
import { anAddress, MKR, registerPair, registerTokens } from "../factories.ts";
import { makeDatabase } from "../database.ts";
import { startIndexing } from "./indexing.ts";
import { chainOf, DAI, EXCHANGE, startInventedNode, WETH, type Act } from "./invented-chain.ts";
import { created, placed } from "./tempo-events.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "token-list-"));
});
afterAll(() => rm(folder, { recursive: true }));

const weth = { chainId: 1, address: WETH, symbol: "WETH", name: "Wrapped Ether", decimals: 18 };
const dai = { chainId: 1, address: getAddress(DAI), symbol: "xDAI", decimals: 18 };

async function listOf(tokens: unknown, quotes: string[] = [], name = "list.json") {
  const path = join(folder, name);
  await writeFile(path, typeof tokens === "string" ? tokens : JSON.stringify({ tokens }));
  return (await readTokenList(path, quotes))!;
}

describe("a file", () => {
  it("of the standard is read with the checksums of its addresses", async () => {
    const { tokens } = await listOf([{ ...weth, logoURI: "ipfs://x" }, dai]);
    expect(tokens).toEqual([
      { ...weth, address: getAddress(WETH) },
      { ...dai, name: undefined },
    ]);
  });

  it("as tokens.csv is of the chain that is indexed", async () => {
    const list = await listOf(`address,symbol,decimals\n${WETH},WETH,18\n`, [], "list.csv");
    expect([...new ListedMarkets(list, 7).tokens.keys()]).toEqual([getAddress(WETH)]);
  });

  it("as tokens.csv is refused by line for a name that would pass for another", async () => {
    const row = `${WETH},WETH,18,"Ether\u200e"`;
    await expect(listOf(`address,symbol,decimals,name\n${row}\n`, [], "list.csv")).rejects.toThrow(
      'line 2, column name: "Ether\u200e" is not accepted; expected a text without control',
    );
  });

  it.each<[unknown, string]>([
    ["{", "cannot be read as JSON"],
    ["[]", '"tokens" must be an array'],
    [[null], "tokens[0].chainId is missing: it must be an integer"],
    [[{ ...weth, chainId: "1" }], 'tokens[0].chainId is "1": it must be an integer'],
    [[weth, { ...dai, address: "0x12" }], 'tokens[1].address is "0x12": it must be an address'],
    [[{ ...weth, symbol: "" }], "tokens[0].symbol is"],
    [[{ ...weth, symbol: 7 }], "tokens[0].symbol is 7: it must be a text"],
    [
      [{ ...weth, name: "Wrapped Ether " }],
      'tokens[0].name is "Wrapped Ether ": it must be a text',
    ],
    [[{ ...weth, symbol: "WE\nTH" }], 'tokens[0].symbol is "WE\\nTH": it must be a text without'],
    [
      [{ ...weth, decimals: 256 }],
      "tokens[0].decimals is 256: it must be an integer from 0 to 255",
    ],
    [[weth, { ...weth, address: getAddress(WETH) }], "is listed twice"],
  ])("%j is refused", async (tokens, problem) => {
    await expect(listOf(tokens)).rejects.toThrow(problem);
  });
});

describe("which way round", () => {
  const [low, high] = ["one", "other"]
    .map(anAddress)
    .sort((one, other) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1)) as [string, string];
  const tokens = [
    weth,
    dai,
    { ...dai, address: low, symbol: "LOW" },
    { ...dai, address: high, symbol: "high" },
  ];

  it("is by the place among the quotes, and then by address", async () => {
    const markets = new ListedMarkets(await listOf(tokens, ["xdai", WETH]), 1);
    const [ether, dollar] = [getAddress(WETH), getAddress(DAI)];
    expect(markets.turned(dollar, ether)).toEqual({ base: ether, quote: dollar });
    expect(markets.turned(ether, high)).toEqual({ base: high, quote: ether });
    expect(markets.turned(high, low)).toEqual({ base: low, quote: high });
    expect(markets.turned(low, high)).toEqual({ base: low, quote: high });
  });

  it.each([
    [["USDC"], 1, 'QUOTES: "USDC" is no symbol or address of a token of the chain 1'],
    [["xDAI"], 1, 'QUOTES: "xDAI" is the symbol of several tokens, give the address of one: 0x'],
    [[], 5, "has no token of the chain 5"],
  ])("%j on chain %s is refused", async (quotes, chain, problem) => {
    const list = await listOf([...tokens, { ...dai, address: anAddress("third") }], quotes);
    expect(() => new ListedMarkets(list, chain)).toThrow(problem);
  });
});

it("makes a market of two listed tokens alone, and corrects what another list has left", async () => {
  const acts = Array.from({ length: 12 }, (): Act[] => []);
  acts[1] = [{ do: "list" }, { do: "make" }, { do: "make" }, { do: "take", id: 1, lot: 1 }];
  acts[9] = [{ do: "take", id: 2, lot: 1 }];
  const node = await startInventedNode(chainOf(acts), 0);
  const database = await makeDatabase();
  let head = 11;
  const index = async (tokens: unknown[], quotes: string[]) => {
    const indexing = startIndexing({
      ...{ databaseUrl: database.url, url: node.url, exchange: EXCHANGE, finality: 2 },
      tokenList: await listOf(tokens, quotes),
    });
    await indexing.wrote(head);
    await indexing.stop();
    node.blocks = chainOf([...node.blocks.map(() => []), []], "", node.blocks);
    head += 1;
    const { rows: markets } = await database.owner.query("select base, quote from dex_pair");
    const { rows: trades } = await database.owner.query(
      "select market, act, lot_tkn, trim_scale(price)::float8 as price from dex_trade order by id",
    );
    return { markets, trades };
  };

  // The exchange lists both; one of them is of another chain in the list.
  expect(await index([weth, { ...dai, chainId: 5 }], [])).toEqual({
    markets: [],
    trades: Array(2).fill({ market: null, act: null, lot_tkn: "WETH", price: null }),
  });
  expect(await index([weth, dai], ["WETH"])).toEqual({
    markets: [{ base: "XDAI", quote: "WETH" }],
    trades: Array(2).fill({ market: "XDAIWETH", act: "buy", lot_tkn: "WETH", price: 0.005 }),
  });
  expect(await index([weth, { ...dai, symbol: "SAI" }], ["SAI"])).toEqual({
    markets: [{ base: "WETH", quote: "SAI" }],
    trades: Array(2).fill({ market: "WETHSAI", act: "sell", lot_tkn: "WETH", price: 200 }),
  });
  // A token that was listed by the name of another one is removed: it has its own again.
  const other = { ...weth, symbol: "GEM", name: "Another" };
  expect((await index([other, dai], ["GEM"])).markets).toEqual([{ base: "XDAI", quote: "GEM" }]);
  expect((await index([dai], [])).markets).toEqual([{ base: "XDAI", quote: "WETH" }]);
  await node.stop();
  await database.drop();
});

it.each([true, false])(
  "an added token makes its market by the older of two rows, also where the later one is taken back: the older is a bid: %s",
  async (isBid) => {
    await using database = await makeDatabase();
    const acts = Array.from({ length: 11 }, (): Act[] => []);
    acts[1] = [{ do: "emit all", events: [created] }];
    acts[6] = [{ do: "emit all", events: [placed(1, 10n ** 18n, isBid, 0)] }];
    acts[8] = [{ do: "emit all", events: [placed(2, 10n ** 18n, !isBid, 0)] }];
    const node = await startInventedNode(chainOf(acts), 5);
    const { state: _, ...decoder } = tempo;
    const start = (tokenList?: TokenList) =>
      startIndexing({
        ...{ databaseUrl: database.url, url: node.url, exchange: EXCHANGE, decoder },
        ...{ finality: undefined, tokenList },
      });
    const before = start();
    await before.wrote(10);
    await before.stop();
    node.blocks = chainOf([...acts, []], "", node.blocks);
    const indexing = start(await listOf([weth, dai]));
    await indexing.wrote(11);
    node.finalized = 7;
    node.blocks = chainOf(
      Array.from({ length: 13 }, () => []),
      "other",
      node.blocks.slice(0, 8),
    );
    await indexing.wrote(12);
    await indexing.stop();
    await node.stop();
    const { rows } = await database.owner.query("select base, quote from dex_pair");
    expect(rows).toEqual([{ base: "XDAI", quote: "WETH" }]);
  },
);

it("corrects the symbols that two tokens have exchanged in a wrong list, and says what it cannot correct", async () => {
  await using database = await makeDatabase();
  const { writer } = database;
  const [ether, maker, dollar] = [WETH, MKR, DAI].map((address) => getAddress(address));
  await registerTokens(
    writer,
    { address: ether!, symbol: "MKR" },
    { address: maker!, symbol: "WETH" },
    { address: dollar!, symbol: "DAI" },
  );
  await registerPair(writer, ether!, dollar!);
  await registerPair(writer, maker!, dollar!);
  const correct = async (symbols: string[]): Promise<string[]> => {
    const said: string[] = [];
    const requests = undefined as unknown as Requests;
    const registry = new Registry({ requests, onLeftOut: (line) => said.push(line) });
    const client = await database.connect("dex_writer");
    await registry.load(client);
    const tokens = symbols.map((symbol, n) => ({ ...weth, symbol, address: [WETH, MKR][n]! }));
    registry.useList(new ListedMarkets(await listOf(tokens), 1));
    await client.query("begin");
    await registry.correct(client, []);
    await client.query("commit");
    return said;
  };
  const bases = async () =>
    (await writer.query("select base, base_gem from dex_pair order by base_gem = $1", [maker]))
      .rows;

  expect(await correct(["WETH", "MKR"])).toEqual([]);
  expect(await bases()).toEqual([
    { base: "WETH", base_gem: ether },
    { base: "MKR", base_gem: maker },
  ]);
  // A list that gives one symbol twice names one market of two.
  expect(await correct(["MKR", "MKR"])).toEqual([
    expect.stringMatching(`^The symbol of the token ${ether} in TOKEN_LIST is left out: the pair`),
  ]);
  expect(await correct(["MKR", "WETH"])).toEqual([]);
  expect(await bases()).toEqual([
    { base: "MKR", base_gem: ether },
    { base: "WETH", base_gem: maker },
  ]);
});

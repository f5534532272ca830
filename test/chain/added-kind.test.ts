// A kind of exchange is added by its decoder and one entry in the list: then it is indexed, and served.
import {
  decodeAbiParameters,
  encodeAbiParameters,
  getAddress,
  padHex,
  parseEther,
  toEventSelector,
  type Hex,
} from "viem";
import { Contracts } from "../../chain/contracts.ts";
import { EXCHANGE_KINDS } from "../../chain/exchanges/kinds.ts";
import type { ChainLog, Decoder, ReadFact } from "../../chain/exchange-facts.ts";
import { Knowledge, KnownContracts } from "../../chain/known-contracts.ts";
import { readIndexSettings, type IndexSettings } from "../../chain/index-settings.ts";
import { makeTestApp } from "../app.ts";
import { makeDatabase } from "../database.ts";
import { startIndexing } from "./indexing.ts";
import * as invented from "./invented-chain.ts";

const { chainOf, EXCHANGE, startInventedNode } = invented;
const [WETH, DAI] = [getAddress(invented.WETH), getAddress(invented.DAI)];
const TAKEN = toEventSelector(
  "LogTake(bytes32,bytes32,address,address,address,address,uint128,uint128,uint64)",
);
const SOLD = toEventSelector("Sold(address,uint256,uint256)");
const AMOUNTS = [{ type: "uint256" }, { type: "uint256" }] as const;

/** Sells WETH for DAI. It has no offers and lists no market, and no event has a time. */
const vendingMachine: Decoder = {
  kind: "vending-machine",
  topics: [SOLD],
  marketTopics: [],
  idsAreConsecutive: false,
  hasOffers: false,
  decode: (logs) =>
    logs.map(({ topics, data, address, ...log }): ReadFact => {
      const [lotAmt, bidAmt] = decodeAbiParameters(AMOUNTS, data);
      return {
        ...{ kind: "trade", offerId: null, ...log },
        ...{ maker: getAddress(address), taker: getAddress(`0x${topics[1]!.slice(26)}`) },
        ...{ lotGem: WETH, lotAmt, bidGem: DAI, bidAmt },
      };
    }),
};

/** A block's act: so much WETH is sold for so much DAI, by the exchange or another machine. */
const sold = (weth: string, dai: string, address?: Hex): invented.Act => ({
  ...{ do: "emit", topics: [SOLD, padHex(BUYER, { size: 32 })] },
  data: encodeAbiParameters(AMOUNTS, [parseEther(weth), parseEther(dai)]),
  ...(address && { address }),
});

const BUYER = "0x1111111111111111111111111111111111111111";
const MARKET = { base: "WETH", quote: "DAI", baseGem: WETH, quoteGem: DAI, active: true };

// The list is that of the other files of the worker too.
beforeAll(() => void (EXCHANGE_KINDS as Decoder[]).push(vendingMachine));
afterAll(() => void (EXCHANGE_KINDS as Decoder[]).pop());

it("a kind that is listed is indexed by its name, near the head and below finality", async () => {
  const settings = readIndexSettings({
    RPC_URL: "http://127.0.0.1",
    EXCHANGE: `vending-machine:${EXCHANGE}`,
    FROM_BLOCK: "0",
  }) as IndexSettings;
  const blocks = Array.from({ length: 51 }, () => [] as invented.Act[]);
  blocks[2]!.push(sold("1", "200"));
  for (let n = 3; n < 30; n += 2) blocks[n]!.push(sold("1", "100"), sold("1", "150"));
  blocks[50]!.push(sold("2", "410"));
  const node = await startInventedNode(chainOf(blocks), 40);
  const headers: number[] = [];
  // The logs of this node have no time, and the first header that it returns of block 3 is of another branch.
  node.lie = ({ method, params: [asked] }, truth) => {
    if (method === "eth_getLogs") {
      return (truth as invented.Log[]).map((log) => ({ ...log, blockTimestamp: undefined }));
    }
    if (method !== "eth_getBlockByNumber") return truth;
    headers.push(Number(asked));
    const isOther = Number(asked) === 3 && headers.indexOf(3) === headers.length - 1;
    return isOther ? { ...(truth as object), hash: padHex("0x3", { size: 32 }) } : truth;
  };
  const database = await makeDatabase();
  const start = () =>
    startIndexing({
      ...{ ...settings, databaseUrl: database.url, url: node.url, rpcUrls: [node.url] },
      ...{ finality: undefined, requestsPerSecond: 10_000 },
      markets: [MARKET],
    });
  const indexing = start();
  await indexing.wrote(50);
  await indexing.stop();
  expect(indexing.events).toContainEqual({
    event: "doubt",
    reason: `The kind vending-machine does not say what ${getAddress(EXCHANGE)} returns: its logs are not compared with its state`,
  });
  // Below finality, of the blocks with facts and the ends of the range alone.
  const below = new Set(headers.filter((number) => number > 0 && number < 40));
  expect([...below].sort((one, other) => one - other)).toEqual([
    ...[2, ...Array.from({ length: 14 }, (_, n) => 3 + 2 * n)],
  ]);
  const { rows: times } = await database.owner.query<{ block: number; time: number }>(
    `select block, extract(epoch from time)::integer as time
    from dex_trade
    order by id`,
  );
  expect(times).toHaveLength(1 + 28 + 1);
  for (const { block, time } of times) expect(time).toBe(1_600_000_000 + 12 * block);

  const app = await makeTestApp(database.reader);
  const { body } = await app.request.get("/v2/trades/weth/dai");
  expect(body.data).toHaveLength(30);
  expect([body.data[0], body.data.at(-1)]).toMatchObject([{ price: "205" }, { price: "200" }]);
  const { rows } = await database.owner.query("select kind from dex_private.index_source");
  expect(rows).toEqual([{ kind: "vending-machine" }]);
  await app.close();

  // A later start reads the market logs again, of which this kind has none. Now logs have their time.
  node.lie = undefined;
  node.blocks = chainOf([...blocks, []]);
  const later = start();
  await later.wrote(51);
  await later.stop();
  await node.stop();
  await database.drop();
});

const MACHINES: Hex[] = [
  "0x2222222222222222222222222222222222222222",
  "0x3333333333333333333333333333333333333333",
];

const settingsOf = (exchange: string, fromBlock?: string) =>
  readIndexSettings({
    ...{ RPC_URL: "http://127.0.0.1", EXCHANGE: exchange },
    ...(fromBlock !== undefined && { FROM_BLOCK: fromBlock }),
  });

describe("several contracts", () => {
  const [one, two] = MACHINES as [Hex, Hex];
  const both = `matching-market:${EXCHANGE}@1,vending-machine:${one}@20,vending-machine:${two}@45`;

  it("fill one database in the order of the chain, each from its first block, also on a new branch", async () => {
    const acts = Array.from({ length: 61 }, (_, number): invented.Act[] =>
      number % 5 > 0
        ? []
        : [
            sold(`${number + 1}`, "1", one),
            { do: "make" },
            sold(`${number + 1}`, "2", two),
            { do: "take", id: Math.max(1, number / 5), lot: 10 },
            sold(`${number + 1}`, "3", one),
          ],
    );
    acts[0] = [];
    const node = await startInventedNode(chainOf(acts), 40);
    const database = await makeDatabase();
    const start = (exchange: string) =>
      startIndexing({
        ...{ ...(settingsOf(exchange) as IndexSettings), databaseUrl: database.url },
        ...{ url: node.url, rpcUrls: [node.url], finality: undefined, requestsPerSecond: 10_000 },
        markets: [MARKET],
      });
    const expectTrades = async () => {
      const { rows } = await database.owner.query<{ row: string }>(
        `select concat_ws(' ', block, idx, lower(maker)) as row
        from dex_trade
        order by id`,
      );
      const trades = node.blocks.flatMap(({ logs }, block) =>
        logs.flatMap(({ address, topics: [topic] }, idx) => {
          if (topic === SOLD) {
            return block < (address === one ? 20 : 45) ? [] : [`${block} ${idx} ${address}`];
          }
          // A take is the second of its three logs; the first of them is that of the update.
          return topic === TAKEN ? [`${block} ${idx} ${invented.MAKER}`] : [];
        }),
      );
      expect(rows.map(({ row }) => row)).toEqual(trades);
    };

    const first = start(both);
    await first.wrote(60);
    await expectTrades();
    // Started again, it goes on, and follows another branch.
    await first.stop();
    const again = start(both);
    node.blocks = chainOf(
      [...acts.slice(0, 57), [sold("7", "1", two)], ...acts.slice(58), []],
      "b",
      node.blocks.slice(0, 50),
    );
    await again.wrote(61);
    await expectTrades();
    await again.stop();

    // One of them less, or another first block, would leave history missing.
    const fewer = start(`matching-market:${EXCHANGE}@1,vending-machine:${one}@20`);
    await expect(fewer.ended).rejects.toThrow(/^The database was filled from contract 0x.*@45/);
    const earlier = start(both.replace("@45", "@44"));
    await expect(earlier.ended).rejects.toThrow("@44");
    // In another order they are the same.
    const swapped = `matching-market:${EXCHANGE}@1,vending-machine:${two}@45,vending-machine:${one}@20`;
    node.blocks = chainOf([...node.blocks.map(() => []), [sold("1", "1", one)]], "b", node.blocks);
    const same = start(swapped);
    await same.wrote(62);
    await expectTrades();
    await same.stop();
    await node.stop();
    await database.drop();
  });

  it.each([
    [`matching-market:${EXCHANGE}@9,vending-machine:${one}@8`, "before the first contract"],
    [`vending-machine:${one}@8,vending-machine:${one}@8`, "is not the address"],
    [`vending-machine:${one}@8,`, "is not the address"],
    [`vending-machine:${one}@x`, "is not the address"],
    [`vending-machine:${one}@2147483648`, "is not the address"],
    [`vending-machine:${one}`, "FROM_BLOCK is missing"],
  ])("%s is refused", (exchange, problem) => {
    expect(settingsOf(exchange)).toEqual({
      problems: expect.arrayContaining([expect.stringContaining(problem)]),
    });
  });

  it("keep the ids of the first one with offers, and the own ids of the others as refs", async () => {
    const log: ChainLog = {
      ...{ address: one, topics: [SOLD, padHex(BUYER, { size: 32 })] },
      data: encodeAbiParameters(AMOUNTS, [1n, 2n]),
      ...{ block: 7, hash: "0x", time: 1, tx: "0x", idx: 0 },
    };
    const { hasOffers: _, ...book } = vendingMachine;
    const of = (offerId: number): Decoder => ({
      ...book,
      decode: (logs) => vendingMachine.decode(logs).map((fact) => ({ ...fact, offerId })),
    });
    const decode = async (...contracts: ConstructorParameters<typeof Contracts>) => {
      const known = new Knowledge(new KnownContracts(() => undefined), 7);
      const { facts } = await new Contracts(...contracts).decode([log], known, () => {
        throw new Error("it is not set up");
      });
      return facts;
    };
    const first = { exchange: EXCHANGE, decoder: vendingMachine };
    const [own, other] = [7, 2 ** 30].map((id) => ({
      ...{ exchange: one, decoder: of(id), firstBlock: 0 },
    }));
    expect(await decode(first, [own!])).not.toMatchObject([{ ref: "7" }]);
    const keeper = { exchange: EXCHANGE, decoder: of(1) };
    expect(await decode(keeper, [own!])).toMatchObject([{ offerId: 7, ref: "7" }]);
    expect(await decode(other!)).toHaveLength(1);
    await expect(decode(other!, [{ ...own!, exchange: two }])).rejects.toThrow(
      `The contract ${one} has offer 1073741824, in block 7`,
    );
  });

  it("without a first block begin with FROM_BLOCK", () => {
    expect(settingsOf(`vending-machine:${one},vending-machine:${two}@7`, "5")).toMatchObject({
      ...{ fromBlock: 5, others: [{ firstBlock: 7 }] },
    });
  });
});

it("a kind that is not listed is refused with the list", () => {
  expect(
    readIndexSettings({
      RPC_URL: "http://127.0.0.1",
      EXCHANGE: `uniswap-v9:${EXCHANGE}`,
      FROM_BLOCK: "0",
    }),
  ).toEqual({
    problems: [
      expect.stringMatching(/^EXCHANGE: "uniswap-v9:0x3975.* is not .*\(matching-market[,)]/),
    ],
  });
});

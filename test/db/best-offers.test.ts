// The best standing offer on each side of each market is kept, whatever is written of offers.
import { makeDatabase, type TestDatabase } from "../database.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  insert,
  MKR,
  registerMarkets,
  setHead,
  WETH,
} from "../factories.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
});
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});
afterAll(async () => {
  await database.drop();
});

/** What is kept: market, side, price, and the hour at which the offer was made. */
async function kept(): Promise<string[]> {
  const { rows } = await database.owner.query<{ line: string }>(
    `select
      concat_ws(' ', pair.market, best.act, trim_scale(best.price), best.block) as line
    from dex_private.best_offer as best
    join dex_pair as pair on pair.id = best.market_id
    order by line`,
  );
  return rows.map(({ line }) => line);
}

const best = (act: string, price: string, hour: number, market = "WETHDAI"): string =>
  `${market} ${act} ${price} ${blockAt(hour)}`;

/** An offer of 1 WETH at this price. */
const offerAt = (quote: string, columns: Parameters<typeof anOffer>[0] = {}) =>
  anOffer({ hour: 1, base: "1", quote, ...columns });

async function bidAndAsk(): Promise<unknown> {
  const { rows } = await database.reader.query<{ bid: string; ask: string }>(
    `select trim_scale(bid)::text as bid, trim_scale(ask)::text as ask
    from dex_market
    where pair = 'WETH/DAI'`,
  );
  return rows[0];
}

it("is the highest bid and the lowest ask of each market, whatever is made when", async () => {
  const { writer } = database;
  await insert(writer, "dex_offer", [
    offerAt("102"),
    offerAt("101", { hour: 2 }),
    offerAt("98", { side: "buy" }),
    offerAt("99", { side: "buy", hour: 3 }),
    offerAt("7", { baseGem: MKR, quoteGem: WETH }),
  ]);
  const first = [best("sell", "7", 1, "MKRWETH"), best("buy", "99", 3), best("sell", "101", 2)];
  expect(await kept()).toEqual(first);

  // No better.
  await insert(writer, "dex_offer", [offerAt("103"), offerAt("97", { side: "buy" })]);
  expect(await kept()).toEqual(first);

  await insert(writer, "dex_offer", offerAt("100.5", { hour: 4 }));
  expect(await kept()).toEqual([...first.slice(0, 2), best("sell", "100.5", 4)]);
});

it("is never one that is cancelled, filled or without a price", async () => {
  await insert(database.writer, "dex_offer", [
    offerAt("90", { killed: blockAt(2) }),
    offerAt("91", { filled: true }),
    offerAt("92", { base: "0" }),
    offerAt("93"),
  ]);
  expect(await kept()).toEqual([best("sell", "93", 1)]);
});

it("is the next where the best is cancelled, taken, or deleted; none where no other stands", async () => {
  const { writer, owner } = database;
  await insert(
    writer,
    "dex_offer",
    [1, 2, 3, 4].map((id) => offerAt(String(100 + id), { id })),
  );
  expect(await kept()).toEqual([best("sell", "101", 1)]);
  await writer.query("update dex_offer set killed = $1 where id = 1", [blockAt(2)]);
  expect(await kept()).toEqual([best("sell", "102", 1)]);
  // Half of it, and the other half.
  for (const [idx, expected] of ["102", "103"].entries()) {
    const trade = aTrade({ offer_id: 2, hour: 3, idx, base: "0.5", quote: "51" });
    await insert(writer, "dex_trade", trade);
    expect(await kept()).toEqual([best("sell", expected, 1)]);
  }
  await owner.query("delete from dex_offer where id = 3");
  expect(await kept()).toEqual([best("sell", "104", 1)]);
  await writer.query("update dex_offer set filled = true where id = 4");
  expect(await kept()).toEqual([]);
});

it("comes back where a reorganisation takes its end back", async () => {
  const { writer } = database;
  await insert(writer, "dex_offer", [offerAt("101", { id: 1 }), offerAt("102", { id: 2 })]);
  await writer.query("update dex_offer set killed = $1 where id = 1", [blockAt(3)]);
  await insert(writer, "dex_offer", offerAt("99", { hour: 3 }));
  await setHead(writer, 3);
  expect(await kept()).toEqual([best("sell", "99", 3)]);

  await writer.query("select dex_private.take_back($1)", [blockAt(2)]);

  expect(await kept()).toEqual([best("sell", "101", 1)]);
});

it("follows the registry, and is forgotten with all offers", async () => {
  const { owner, writer } = database;
  await insert(writer, "dex_offer", offerAt("100", { baseGem: MKR, quoteGem: WETH }));
  await owner.query("delete from dex_pair where base = 'MKR'");
  expect(await kept()).toEqual([]);
  // The maker sold 1 MKR for 100 WETH, so buys WETH: 1 ÷ 100 MKR for one.
  await insert(writer, "dex_pair", { base: "WETH", quote: "MKR" });
  expect(await kept()).toEqual([best("buy", "0.01", 1, "WETHMKR")]);
  await owner.query("truncate dex_offer");
  expect(await kept()).toEqual([]);
});

it("is bid or ask once the head has come to it; before, the best before the head is", async () => {
  const { writer } = database;
  await insert(writer, "dex_offer", [
    offerAt("103", { hour: 1 }),
    offerAt("102", { hour: 2 }),
    offerAt("101", { hour: 3 }),
    offerAt("97", { side: "buy", hour: 2 }),
    offerAt("98", { side: "buy", hour: 4 }),
  ]);
  const heads = [
    [0, null, null],
    [1, null, "103"],
    [2, "97", "102"],
    [3.5, "97", "101"],
    [4, "98", "101"],
  ] as const;
  for (const [hour, bid, ask] of heads) {
    await setHead(writer, hour);
    expect([hour, await bidAndAsk()]).toEqual([hour, { bid, ask }]);
  }
});

// The table of open offers, and the best of them on each side of each market.
import { verify } from "../../db/verify/verify-database.ts";
import {
  anOffer,
  aTrade,
  blockAt,
  hours,
  MKR,
  registerMarkets,
  registerPair,
  WETH,
  write,
} from "../factories.ts";
import { useOwned } from "../served.ts";

const { database, owner } = useOwned();
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});
afterEach(async () => {
  expect(await verify(owner)).toEqual([]);
});

/** The best offers: market, side, price, and the block of the offer. */
async function bestOffers(): Promise<string[]> {
  const { rows } = await owner.query<{ line: string }>(
    `select
      concat_ws(' ', pair.market, side.act, trim_scale(side.price), offer.block) as line
    from dex_private.market_figure as figure
    join dex_pair as pair on pair.id = figure.market_id
    cross join lateral (
      values ('buy', figure.bid), ('sell', figure.ask)
    ) as side (act, price)
    join dex_private.standing_offer as standing
      on standing.market_id = figure.market_id
      and standing.act = side.act
      and standing.price = side.price
    join dex_offer as offer on offer.id = standing.offer_id
    order by line`,
  );
  return rows.map(({ line }) => line);
}

const best = (act: string, price: string, hour: number, market = "WETHDAI"): string =>
  `${market} ${act} ${price} ${blockAt(hour)}`;

/** An offer of 1 WETH at this price. */
const offerAt = (quote: string, columns: Parameters<typeof anOffer>[0] = {}) =>
  anOffer({ hour: 1, base: "1", quote, ...columns });

/** Writes a block with only cancellations at this hour after genesis. */
const kill = async (hour: number, ...ids: number[]): Promise<void> => {
  await database.writer.query("select ingest.write_block($1, $2, killed => $3)", [
    blockAt(hour),
    hours(hour),
    ids,
  ]);
};
const takeBack = async (hour: number): Promise<void> => {
  await database.writer.query("select ingest.take_back($1)", [blockAt(hour)]);
};

it("has the highest bid and the lowest ask of each market, made in any order", async () => {
  const { writer } = database;
  await write(writer, {
    offers: [
      offerAt("102"),
      offerAt("101", { hour: 2 }),
      offerAt("98", { side: "buy" }),
      offerAt("99", { side: "buy", hour: 3 }),
      offerAt("7", { baseGem: MKR, quoteGem: WETH }),
    ],
  });
  const first = [best("sell", "7", 1, "MKRWETH"), best("buy", "99", 3), best("sell", "101", 2)];
  expect(await bestOffers()).toEqual(first);

  // Neither offer is better.
  await write(writer, {
    offers: [offerAt("103", { hour: 3.5 }), offerAt("97", { side: "buy", hour: 3.5 })],
  });
  expect(await bestOffers()).toEqual(first);

  await write(writer, { offers: [offerAt("100.5", { hour: 4 })] });
  expect(await bestOffers()).toEqual([...first.slice(0, 2), best("sell", "100.5", 4)]);
});

it("excludes cancelled and filled offers and offers without a price", async () => {
  await write(database.writer, {
    offers: [
      offerAt("90", { killed: blockAt(2) }),
      offerAt("90", { killed: blockAt(1) }),
      offerAt("91", { filled: true }),
      offerAt("92", { base: "0" }),
      offerAt("93"),
    ],
  });
  expect(await bestOffers()).toEqual([best("sell", "93", 1)]);
  const { rows } = await owner.query("select from dex_private.standing_offer");
  expect(rows).toHaveLength(1);
});

it("has the next best after the best is cancelled or taken, or none", async () => {
  const { writer } = database;
  await write(writer, { offers: [1, 2, 3].map((id) => offerAt(String(100 + id), { id })) });
  expect(await bestOffers()).toEqual([best("sell", "101", 1)]);
  await kill(2, 1);
  expect(await bestOffers()).toEqual([best("sell", "102", 1)]);
  // First one half of the offer, then the other.
  for (const [after, expected] of ["102", "103"].entries()) {
    const trade = aTrade({ offer_id: 2, hour: 3 + after, base: "0.5", quote: "51" });
    await write(writer, { trades: [trade] });
    expect(await bestOffers()).toEqual([best("sell", expected, 1)]);
  }
  await kill(5, 3);
  expect(await bestOffers()).toEqual([]);
});

it("restores an offer when a reorganisation removes its end, and drops one that it removes", async () => {
  const { writer } = database;
  await write(writer, {
    offers: [
      offerAt("100", { id: 1 }),
      offerAt("101", { id: 2 }),
      offerAt("102", { id: 3 }),
      offerAt("99", { id: 4, hour: 3 }),
    ],
  });
  await kill(4, 1);
  // The whole lot of offer 2.
  await write(writer, { trades: [aTrade({ offer_id: 2, hour: 5, base: "1", quote: "101" })] });
  expect(await bestOffers()).toEqual([best("sell", "99", 3)]);
  await kill(6, 4);
  expect(await bestOffers()).toEqual([best("sell", "102", 1)]);

  await takeBack(5);
  expect(await bestOffers()).toEqual([best("sell", "99", 3)]);
  await takeBack(2);
  expect(await bestOffers()).toEqual([best("sell", "100", 1)]);
  await takeBack(0);
  expect(await bestOffers()).toEqual([]);
});

it("does not restore an offer that its source has closed", async () => {
  await write(database.writer, {
    offers: [offerAt("100", { id: 1, filled: true })],
    trades: [aTrade({ offer_id: 1, hour: 2, base: "1" })],
  });
  await takeBack(1);
  expect(await bestOffers()).toEqual([]);
});

it("follows the registry", async () => {
  await write(database.writer, { offers: [offerAt("100", { baseGem: MKR, quoteGem: WETH })] });
  expect(await bestOffers()).toEqual([best("sell", "100", 1, "MKRWETH")]);
  // The maker sold 1 MKR for 100 WETH, which is buying WETH at 1 ÷ 100 MKR.
  await registerPair(database.writer, WETH, MKR);
  expect(await bestOffers()).toEqual([best("buy", "0.01", 1, "WETHMKR")]);
});

it("gives bid and ask as of each block", async () => {
  const { writer, reader } = database;
  await write(writer, { head: 0 });
  const blocks = [
    [1, [offerAt("103")], null, "103"],
    [2, [offerAt("102", { hour: 2 }), offerAt("97", { side: "buy", hour: 2 })], "97", "102"],
    [3, [offerAt("101", { hour: 3 })], "97", "101"],
    [3.5, [], "97", "101"],
    [4, [offerAt("98", { side: "buy", hour: 4 })], "98", "101"],
  ] as const;
  for (const [head, offers, bid, ask] of blocks) {
    await write(writer, { offers, head });
    const { rows } = await reader.query(
      `select trim_scale(bid)::text as bid, trim_scale(ask)::text as ask
      from dex_market
      where pair = 'WETH/DAI'`,
    );
    expect([head, rows]).toEqual([head, [{ bid, ask }]]);
  }
});

it("records when each offer ended, and the best price after each block, and forgets what is taken back", async () => {
  const { writer } = database;
  /** Offer and hour of its end; hour and best ask. */
  const recorded = async () => {
    const { rows } = await owner.query<{ ended: string[]; asks: string[] }>(
      `select
        array(select id || ' ' || ended / 3600 from dex_offer where ended is not null order by id) as ended,
        array(
          select block / 3600 || ' ' || coalesce(trim_scale(price)::text, 'none')
          from dex_private.best_price
          where act = 'sell'
          order by block
        ) as asks`,
    );
    return rows[0];
  };
  await write(writer, {
    offers: [offerAt("100", { id: 1 }), offerAt("101", { id: 2 })],
    trades: [
      aTrade({ offer_id: 1, hour: 2, base: "0.5", quote: "50" }),
      aTrade({ offer_id: 1, hour: 3, base: "0.5", quote: "50" }),
    ],
  });
  await kill(4, 2);
  const asks = ["1 100", "3 101", "4 none"];
  expect(await recorded()).toEqual({ ended: ["1 3", "2 4"], asks });
  // A filled offer that is cancelled ended before.
  await kill(5, 1);
  expect(await recorded()).toEqual({ ended: ["1 3", "2 4"], asks });
  await takeBack(3);
  expect(await recorded()).toEqual({ ended: ["1 3"], asks: asks.slice(0, 2) });
  await takeBack(2);
  expect(await recorded()).toEqual({ ended: [], asks: asks.slice(0, 1) });
});

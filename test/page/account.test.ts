// The page of an account, as the server makes it: against GraphQL, page by page.
import {
  aTrade,
  anAddress,
  anOffer,
  blockAt,
  DAI,
  hours,
  registerMarkets,
  write,
} from "../factories.ts";
import { dataOf } from "../graphql.ts";
import { serveDatabase } from "../served.ts";
import { makeTestApp } from "../app.ts";

const ALICE = anAddress("Alice");
const BOB = anAddress("Bob");
const MANY = anAddress("Many");
const UNKNOWN = anAddress("nobody");

const { app, database } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, {
    offers: [
      anOffer({ id: 1, hour: 1, maker: ALICE, base: "10", quote: "1000.5" }),
      anOffer({
        id: 2,
        hour: 1,
        maker: ALICE,
        side: "buy",
        base: "10",
        quote: "900",
        killed: blockAt(5),
      }),
      anOffer({ id: 3, hour: 2, maker: ALICE, base: "1", quote: "110" }),
      anOffer({ id: 4, hour: 2, maker: BOB, base: "1", quote: "120" }),
      // Of tokens that are no registered pair.
      anOffer({ id: 5, hour: 2, maker: ALICE, baseGem: anAddress("X"), quoteGem: DAI }),
    ],
    trades: [
      aTrade({ hour: 3, offer_id: 1, maker: ALICE, taker: BOB, base: "2.5", quote: "250.125" }),
      aTrade({ hour: 4, offer_id: 3, maker: ALICE, taker: BOB, base: "1", quote: "110" }),
      aTrade({ hour: 4.5, offer_id: 4, maker: BOB, taker: ALICE, base: "0.5", quote: "60" }),
      aTrade({ hour: 4.6, offer_id: 1, maker: ALICE, taker: ALICE, base: "0.1", quote: "10" }),
      aTrade({
        hour: 4.7,
        offer_id: 5,
        maker: ALICE,
        taker: BOB,
        baseGem: anAddress("X"),
        quoteGem: DAI,
      }),
    ],
    head: 6,
  });
});

const get = (path: string) => app.request.get(path).accept("text/html");

/** The cells of each row of a section, by their whole values. */
function rowsOf(text: string, section: string): string[][] {
  const [, part = ""] =
    new RegExp(`<section id="${section}"([\\s\\S]*?)</section>`).exec(text) ?? [];
  return [...part.matchAll(/<tr class="trade" data-id="(\d+)">([\s\S]*?)<\/tr>/g)].map(
    ([, id, row]) => [
      id!,
      ...[...row!.matchAll(/<td>([\s\S]*?)<\/td>/g)].map(([, cell]) => wholeOf(cell!)),
    ],
  );
}

const wholeOf = (cell: string): string =>
  cell
    .replace(/<button[\s\S]*?<\/button>/g, "")
    .replace(/<span[^>]*title="([^"]*)"[\s\S]*?<\/span\s*>/g, "$1")
    .replace(/<data value="([^"]*)"[\s\S]*?<\/data>/g, "$1")
    .replace(/<time datetime="([^"]*)"[\s\S]*?<\/time>/g, "$1")
    .replace(/<[^>]*>/g, "")
    .trim();

const idsOf = (text: string, section: string): string[] => rowsOf(text, section).map(([id]) => id!);

const linkIn = (text: string, title: string): string =>
  new RegExp(`<a href="([^"]*)">${title}</a>`).exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "none";

it("has the trades as maker and as taker, with what the account gave and got", async () => {
  const { text } = await get(`/accounts/${ALICE}`).expect(200);
  const { allDexTrades } = await dataOf(
    app,
    `{ allDexTrades(orderBy: ID_DESC) { nodes { id tx maker taker } } }`,
  );
  const [unlisted, own, taken, filled, made] = allDexTrades.nodes as { id: string; tx: string }[];
  expect(rowsOf(text, "trades")).toEqual([
    [
      unlisted!.id,
      hours(4.7),
      "no market",
      "maker",
      "–",
      "–",
      `1 ${anAddress("X")}`,
      "100 DAI",
      BOB,
      unlisted!.tx,
    ],
    [
      own!.id,
      hours(4.6),
      "WETH/DAI",
      "maker and taker",
      "Buy",
      "100",
      "10 DAI",
      "0.1 WETH",
      ALICE,
      own!.tx,
    ],
    // Bob's offer sold base: Alice bought it.
    [
      taken!.id,
      hours(4.5),
      "WETH/DAI",
      "taker",
      "Buy",
      "120",
      "60 DAI",
      "0.5 WETH",
      BOB,
      taken!.tx,
    ],
    [
      filled!.id,
      hours(4),
      "WETH/DAI",
      "maker",
      "Sell",
      "110",
      "1 WETH",
      "110 DAI",
      BOB,
      filled!.tx,
    ],
    [
      made!.id,
      hours(3),
      "WETH/DAI",
      "maker",
      "Sell",
      "100.05",
      "2.5 WETH",
      "250.125 DAI",
      BOB,
      made!.tx,
    ],
  ]);
  expect(text).toContain(`<a href="/accounts/${BOB}">`);
  expect(text).toContain('<a href="/markets/WETH/DAI">');
});

it("has the open offers with what is left, and the past ones with how they ended", async () => {
  const { text } = await get(`/accounts/${ALICE}`).expect(200);
  // 10 - 2.5 - 0.1
  expect(rowsOf(text, "open").map((row) => [row[0], ...row.slice(2, 8)])).toEqual(
    [
      ["1", "WETH/DAI", "Sell", "100.05", "10 WETH", "1000.5 DAI", "7.4 WETH"],
      ["5", "no market", "–", "–", `10 ${anAddress("X")}`, "1000 DAI", `9 ${anAddress("X")}`],
    ].toReversed(),
  );
  expect(rowsOf(text, "past").map((row) => [row[0], ...row.slice(2, 8)])).toEqual([
    ["3", "WETH/DAI", "Sell", "110", "1 WETH", "110 DAI", `filled in block ${blockAt(4)}`],
    ["2", "WETH/DAI", "Buy", "90", "900 DAI", "10 WETH", `cancelled in block ${blockAt(5)}`],
  ]);
});

it.each([
  ["lower case", ALICE.toLowerCase()],
  ["upper case", `0x${ALICE.slice(2).toUpperCase()}`],
])("takes the address in %s", async (_case, address) => {
  const [{ text }, { text: other }] = [
    await get(`/accounts/${address}`).expect(200),
    await get(`/accounts/${ALICE}`),
  ];
  expect(text).toBe(other);
});

it("finds what was recorded in lower case", async () => {
  const lower = anAddress("recorded in lower case").toLowerCase();
  await write(database.writer, {
    offers: [anOffer({ id: 50, hour: 6.5, maker: lower })],
    trades: [aTrade({ hour: 6.5, offer_id: 50, maker: lower, taker: UNKNOWN.toLowerCase() })],
  });
  const { text } = await get(`/accounts/${anAddress("recorded in lower case")}`).expect(200);
  expect([idsOf(text, "trades").length, idsOf(text, "open")]).toEqual([1, ["50"]]);
});

it("says so where the address has none", async () => {
  const { text } = await get(`/accounts/${anAddress("nothing")}`).expect(200);
  expect(text).toContain("This address has no trade and no offer.");
  expect(text).not.toContain("<table>");
});

it.each([
  ["/accounts/0x12", "The address must be 0x and 40 hexadecimal digits"],
  [`/accounts/${ALICE}0`, "The address must be 0x and 40 hexadecimal digits"],
  [`/accounts/${encodeURIComponent("<b>")}`, "The address must be 0x and 40 hexadecimal digits"],
  [`/accounts/${ALICE}?trades=x`, "trades must be the id of a trade"],
  [`/accounts/${ALICE}?trades=5&trades=4`, "trades must be given once"],
  [`/accounts/${ALICE}?open=1`, "open must be the block and the id of an offer, such as 20511.73"],
  [`/accounts/${ALICE}?past=1.2147483648`, "past must be the block and the id of an offer"],
])("%s is a page of status 400 that says what is accepted", async (path, message) => {
  const { text, headers } = await get(path).expect(400);
  expect(text).toContain(message);
  expect(text).not.toContain("<b>");
  expect(headers).toMatchObject({
    "cache-control": "no-store",
    "content-type": "text/html; charset=utf-8",
  });
});

it("leads through all trades and offers, each once, and keeps the pages of the other lists", async () => {
  const hour = 7;
  const offers = Array.from({ length: 1120 }, (_, n) =>
    anOffer({ id: 1000 + n, hour, maker: MANY, base: "1", quote: String(200 + n) }),
  );
  await write(database.writer, { offers });
  // Of the first 1,120, all but five are cancelled: fewer than a page are open among the newest 1,000.
  const open = [1000, 1001, 1500, 2000, 2119];
  const cancelled = offers.map(({ id }) => id).filter((id) => !open.includes(id));
  await database.writer.query("select ingest.write_block($1, $2, killed => $3)", [
    ...[blockAt(8), hours(8), cancelled],
  ]);
  await write(database.writer, {
    trades: Array.from({ length: 120 }, (_, n) =>
      aTrade({
        hour: 9 + n / 3600,
        offer_id: null,
        ...(n % 2 ? { maker: MANY } : { taker: MANY }),
      }),
    ),
  });
  const through = async (section: string, older: string): Promise<string[][]> => {
    const pages: string[][] = [];
    let path = `/accounts/${MANY}`;
    for (;;) {
      const { text } = await get(path).expect(200);
      pages.push(idsOf(text, section));
      const link = linkIn(text, older);
      if (link === "none") return pages;
      path = `/accounts/${MANY}${link.split("#")[0]!}`;
    }
  };
  const idsAs = async (as: string): Promise<string[]> => {
    const query = `{ allDexTrades(first: 200, condition: { ${as}: "${MANY}" }) { nodes { id } } }`;
    const { allDexTrades } = await dataOf(app, query);
    return allDexTrades.nodes.map(({ id }) => String(id));
  };
  const trades = await through("trades", "Older trades");
  expect(trades.map(({ length }) => length)).toEqual([50, 50, 20]);
  const ids = trades.flat();
  const expected = [...(await idsAs("maker")), ...(await idsAs("taker"))];
  expect(ids).toEqual(expected.toSorted((one, other) => Number(other) - Number(one)));
  expect(await through("open", "Older open offers")).toEqual([
    ["2119", "2000", "1500"],
    ["1001", "1000"],
  ]);
  const past = await through("past", "Older past offers");
  expect(past.flat()).toEqual(cancelled.toReversed().map(String));

  const { text } = await get(`/accounts/${MANY}?trades=${ids[49]!}&open=${blockAt(7)}.1500`).expect(
    200,
  );
  expect(linkIn(text, "Newest trades")).toBe(`?open=${blockAt(7)}.1500#trades`);
  expect(linkIn(text, "Newest open offers")).toBe(`?trades=${ids[49]!}#open`);
});

it("links to the explorer only where there is one", async () => {
  const explorer = { tx: "https://e.example/tx/{tx}", address: "https://e.example/a/{address}" };
  await using linked = await makeTestApp(database.reader, { explorer });
  const { text } = await linked.request.get(`/accounts/${ALICE}`).accept("text/html");
  expect(text).toContain(`href="https://e.example/a/${ALICE}"`);
  expect(text).toContain(`href="https://e.example/tx/0x`);
  expect((await get(`/accounts/${ALICE}`)).text).not.toContain("explorer");
});

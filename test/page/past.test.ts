// The document of a market, as of a past block, is what it was when that block was the head.
import { dataOf } from "../../page/html.ts";
import { makeTestApp, OF_ONE_VERSION } from "../app.ts";
import { makeDatabase } from "../database.ts";
import {
  aHash,
  anOffer,
  aTrade,
  blockAt,
  DAI,
  hours,
  registerMarkets,
  registerPair,
  WETH,
} from "../factories.ts";
import { serveDatabase } from "../served.ts";
import { trimmed } from "./panels.ts";

/** Hours after genesis of the blocks. The fourth has no rows, and is the last final one. */
const HOURS = [1, 2, 9, 25.9, 26, 26.005];
const MARKET = "/markets/weth/dai";

/** What the page shows without scripts and with them. */
interface Shown {
  cells: string[];
  topics: Record<string, unknown>;
}
const heads: Shown[] = [];

const { app, database } = serveDatabase(registerMarkets);
beforeAll(async () => {
  for (const [n, hour] of HOURS.entries()) {
    const offers = [
      anOffer({ id: 10 + n, hour, base: "10", quote: String(1000 + n) }),
      anOffer({ id: 20 + n, hour, side: "buy", base: "10", quote: String(900 - n) }),
    ].map((offer) => ({ ...offer, killed: undefined }));
    const trades = [
      aTrade({ hour, offer_id: 10, base: "2", quote: String(200 + n) }),
      aTrade({ hour, offer_id: 20, side: "buy", base: "1", quote: "90", idx: 1 }),
    ];
    await database.writer.query(
      "select ingest.write_block($1, $2, $3, offers => $4, trades => $5, killed => $6)",
      [
        ...[blockAt(hour), hours(hour), aHash(`block ${n}`)],
        ...(n === 3
          ? ["[]", "[]", []]
          : [JSON.stringify(offers), JSON.stringify(trades), n === 4 ? [11, 22] : []]),
      ],
    );
    heads.push({ cells: cellsOf((await page("")).text), topics: await topicsOfRest() });
    await registerPair(database.writer, WETH, DAI, n % 2 === 1);
  }
});

const page = (query: string, path = MARKET) => app.request.get(path + query).accept("text/html");

const cellsOf = (text: string): string[] =>
  [...text.matchAll(/<(td|dt|dd|caption|h1)[^>]*>([\s\S]*?)<\/\1>/g)].map(([, , cell]) =>
    cell!.trim(),
  );

const attributeOf = (text: string, name: string): string =>
  new RegExp(`data-${name}="([^"]*)"`).exec(text)?.[1]?.replaceAll("&quot;", '"') ?? "absent";

async function topicsOfRest(): Promise<Record<string, unknown>> {
  const data = async (path: string) => (await app.request.get(path).expect(200)).body.data;
  const details = async () => {
    const query = `{ allDexTrades(first: 50, orderBy: ID_DESC) { nodes { id act lotAmt bidAmt maker taker tx } } }`;
    const { body } = await app.request.post("/graphql").send({ query });
    return body.data.allDexTrades.nodes.map((one: Record<"lotAmt" | "bidAmt", string>) => ({
      ...one,
      ...{ lotAmt: trimmed(one.lotAmt), bidAmt: trimmed(one.bidAmt) },
    }));
  };
  const { headers, body } = await app.request.get("/v2/prices");
  return {
    head: { block: Number(headers["x-head-block"]), time: body.time },
    summary: await data("/v2/summary/weth/dai"),
    details: await details(),
    trades: await data("/v2/trades/weth/dai?limit=50"),
    book: { whole: true, ...(await data("/v2/book/weth/dai?depth=50")) },
    candles: await data("/v2/candles/weth/dai?interval=4h&limit=300"),
  };
}

const shownIn = (text: string): Shown => ({
  cells: cellsOf(text),
  topics: JSON.parse(/<script type="application\/json" id="past">([^<]*)</.exec(text)?.[1] ?? ""),
});

it("has its data in an element that no text of them ends", () => {
  const data = { symbol: `</script><!--<script>"'&\r\u2028` };
  const { text } = dataOf("past", data);
  expect(text.match(/<[^>]*>/g)).toEqual([
    '<script type="application/json" id="past">',
    "</script>",
  ]);
  expect(JSON.parse(/>([^<]*)</.exec(text)![1]!)).toEqual(data);
});

it("has the figures, the book, the trades and the candles of each block, and names it", async () => {
  for (const [n, hour] of HOURS.entries()) {
    const { text } = await page(`?block=${blockAt(hour)}&interval=4h`).expect(200);
    expect(shownIn(text)).toEqual(heads[n]);
    expect(text).toContain(`<title>WETH/DAI at block ${blockAt(hour)}</title>`);
    expect(text.match(/<h2>[^<]* at block \d+<\/h2>/g)).toHaveLength(3);
    expect(["previous", "next"].map((name) => attributeOf(text, name))).toEqual(
      [HOURS[n - 1], HOURS[n + 1]].map((other) => (other ? String(blockAt(other)) : "")),
    );
  }
});

it.each([
  ["a number between two blocks", `block=${blockAt(9) - 1}`],
  ["a time", `time=${hours(3)}`],
  ["a hash", `hash=${aHash("block 1")}`],
])("takes %s", async (_what, asOf) => {
  const { text } = await page(`?${asOf}&interval=4h`).expect(200);
  expect(shownIn(text)).toEqual(heads[1]);
});

it("links to the blocks beside it and to the head, and from the head to the block before", async () => {
  const links = async (query: string) =>
    [...(await page(query)).text.matchAll(/<a href="(\?[^"]*)"/g)].map(([, link]) =>
      link!.replaceAll("&amp;", "&"),
    );
  expect(await links(`?block=${blockAt(2)}&interval=1d`)).toEqual([
    `?interval=1d&block=${blockAt(1)}`,
    `?interval=1d&block=${blockAt(9)}`,
    "?interval=1d",
  ]);
  expect(await links("")).toEqual([`?block=${blockAt(26.005) - 1}`]);
});

const AVAILABLE = `No such block: there are the blocks from ${blockAt(1)}, of 2026-01-01T01:00:00Z, to ${blockAt(26.005)}, of 2026-01-02T02:00:18Z`;

it.each([
  [`block=${blockAt(1) - 1}`, AVAILABLE],
  [`hash=${aHash("another")}`, AVAILABLE],
  ["block=head", "block must be an integer from 0 to 2147483647"],
  ["Block=1", "Block must be written block"],
  ["time=yesterday", "time must be a time from 1970 on in ISO 8601"],
  ["block=1&hash=0x12", "hash must be the hash of a block"],
])("refuses %s as REST does, without any figure", async (asOf, message) => {
  const answer = await page(`?${asOf}`);
  const rest = await app.request.get(`/v2/prices/weth/dai?${asOf}`);
  expect([answer.status, answer.headers["cache-control"]]).toEqual([400, "no-store"]);
  expect(rest.body.message).toContain(message);
  expect(answer.text).toContain(`<p>${rest.body.message}.</p>`);
  // With what was typed, and each form by an example.
  const [given = ""] = Object.entries(Object.fromEntries(new URLSearchParams(asOf)))
    .filter(([name]) => /^(block|time|hash)$/.test(name))
    .map(([, value]) => value);
  expect(answer.text).toContain(`Asked for: <bdi>${given}`);
  for (const form of ["block: its number, such as", "hash: 0x and 64", "time: in ISO 8601 UTC"]) {
    expect(answer.text).toContain(form);
  }
  expect(answer.text).not.toMatch(/<td|<dd|http-equiv="refresh"/);
});

const OF_HEAD = ["/", "/trades", "/state", `/accounts/${DAI}`, "/files"];

it.each([`block=${blockAt(2)}`, `time=${hours(2)}`, `hash=${aHash("block 1")}`])(
  "refuses %s where there is no history, also of a page that is in memory",
  async (asOf) => {
    const [name] = asOf.split("=");
    for (const path of OF_HEAD) {
      await page("", path);
      const { status, headers, text } = await page(`?${asOf}`, path);
      expect([path, status, headers["cache-control"]]).toEqual([path, 400, "no-store"]);
      expect(text).toContain(`${name} must be left out: this has no history.`);
      expect(text).not.toMatch(/<td|<dd|http-equiv="refresh"/);
    }
  },
);

it("refuses a block that is written wrongly as REST does, and ignores other parameters and the index's", async () => {
  for (const path of OF_HEAD) {
    expect((await page("?Block=1", path).expect(400)).text).toContain(
      "Block must be written block",
    );
    const { status } = await page("", path);
    expect((await page("?blocks=1&from=2", path)).status).toBe(status);
  }
  await app.request.get("/?block=1").accept("application/json").expect(200);
});

it("answers an unknown pair before a malformed block", async () => {
  expect((await page("?block=head", "/markets/dai/weth")).status).toBe(404);
});

it("is kept for an hour where the block and the next are final, and has an ETag", async () => {
  const kept = async (asOf: string) => (await page(`?${asOf}`)).headers["cache-control"];
  expect(await kept(`block=${blockAt(2)}`)).toBe("public, max-age=3600");
  expect(await kept(`hash=${aHash("block 1")}`)).toBe("public, max-age=3600");
  // The next one is deleted once it is 1,000 blocks old; that after it can be taken back.
  expect(await kept(`block=${blockAt(9)}`)).toBe("public, max-age=1");
  expect(await kept(`block=${blockAt(25.9)}`)).toBe("public, max-age=1");
  expect(await kept(`block=${blockAt(26.005)}`)).toBe("public, max-age=1");
  expect(await kept("")).toBe("public, max-age=1");
  const first = await page(`?block=${blockAt(2)}`);
  const again = await page(`?block=${blockAt(2)}`).set("If-None-Match", first.headers["etag"]!);
  expect(again.status).toBe(304);
});

it("is not kept for an hour beside a block without rows, which is deleted later", async () => {
  const other = await makeDatabase();
  await registerMarkets(other.writer);
  const small = await makeTestApp(other.reader, { finality: 1 });
  for (const hour of [1, 1.05, 1.1, 1.15, 1.2, 1.25]) {
    const trades = hour === 1.05 ? [] : [aTrade({ hour })];
    await other.writer.query("select ingest.write_block($1, $2, $3, trades => $4)", [
      ...[blockAt(hour), hours(hour), aHash(`in ${hour}`), JSON.stringify(trades)],
    ]);
  }
  const kept = async (hour: number) =>
    (await small.request.get(`${MARKET}?block=${blockAt(hour)}`).accept("text/html")).headers[
      "cache-control"
    ];
  expect(await kept(1)).toBe("public, max-age=1");
  expect(await kept(1.1)).toBe("public, max-age=1");
  expect(await kept(1.15)).toBe("public, max-age=3600");
  await small.close();
  await other.drop();
});

it("leaves the documents of the head in memory, however many past ones are asked for", async () => {
  const small = await makeTestApp(database.reader, {
    cache: { ...OF_ONE_VERSION, bytes: 400_000 },
  });
  const kept = async (query: string) => {
    await small.request.get(MARKET + query).accept("text/html");
    return small.over.at(-1)?.cache;
  };
  await kept("");
  for (let n = 0; n < 40; n += 1) await kept(`?block=${blockAt(2) + n}`);
  expect(await kept("")).toBe("hit");
  expect(await kept(`?block=${blockAt(2) + 39}`)).toBe("hit");
  expect(await kept(`?block=${blockAt(2) + 39}&interval=4h`)).toBe("miss");
  expect(await kept(`?block=${blockAt(2)}`)).toBe("miss");
  // What is no block decides no answer at the head.
  expect(await kept("?interval=4h")).toBe("hit");
  await small.close();
});

it("has nothing of a block that was taken back", async () => {
  const asked = [`?block=${blockAt(26.005)}`, `?hash=${aHash("block 5")}`];
  for (const query of asked) await page(query).expect(200);
  await database.writer.query("select ingest.take_back($1)", [blockAt(26)]);
  for (const query of asked) expect((await page(query)).status).toBe(400);
  expect(attributeOf((await page(`?block=${blockAt(26)}`)).text, "next")).toBe("");
});

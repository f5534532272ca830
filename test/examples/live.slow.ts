// The examples of the event stream, as their users run them, beside a writer.
import { createServer, get, type Server, type ServerResponse } from "node:http";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { AddressInfo } from "node:net";
import { describeInChromium, useBrowser } from "../browser.ts";
import { anOffer, aTrade, blockAt, registerMarkets, write } from "../factories.ts";
import { serveEach } from "../served.ts";
import { runFile } from "../service.ts";
import { DexMarketData } from "../../examples/live/dex-market-data.ts";

const { app, database } = serveEach(async (writer) => {
  hour = 1;
  await registerMarkets(writer);
  await write(writer, {
    trades: [aTrade({ hour: 1, offer_id: 1 })],
    offers: [anOffer({ id: 1 }), anOffer({ id: 2, side: "buy", quote: "900" })],
  });
});
let hour = 1;

const takeBack = (hour: number) =>
  database.writer.query("select ingest.take_back($1)", [blockAt(hour)]);

/** Writes trades, one a block, until the work is done. */
async function writingUntil<Result>(work: Promise<Result>): Promise<Result> {
  const done = work.then(() => true);
  while (!(await Promise.race([done, sleep(20, false)]))) {
    hour += 1;
    await write(database.writer, {
      trades: [aTrade({ hour, offer_id: 1, base: "0.001", quote: "0.1" })],
    });
  }
  return work;
}

const ofRest = async (path: string) => (await app.request.get(path).expect(200)).body.data;

/** Waits until the value is as expected; the test's timeout bounds it. */
async function until<Value>(read: () => Value, expected: Value): Promise<void> {
  while (!isDeepStrictEqual(read(), expected)) await sleep(20);
}

/** What a client may meet on its way back to a stream, instead of the stream. */
const OBSTACLES: Record<string, (res: ServerResponse) => void> = {
  "503": (res) => res.writeHead(503, { "Retry-After": "5" }).end("{}"),
  "429": (res) => res.writeHead(429, { "Retry-After": "1" }).end("{}"),
  "502 of a proxy": (res) =>
    res.writeHead(502, { "Content-Type": "text/html" }).end("<h1>502</h1>"),
  "204": (res) => res.writeHead(204).end(),
  "a redirect to a page": (res) => res.writeHead(302, { Location: "/page" }).end(),
  "a redirect to the service": (res) => res.writeHead(307, { Location: res.req.url }).end(),
  "a connection that is cut": (res) => res.destroy(),
};

interface Gate {
  url: string;
  /** Cuts the streams; the next request for one meets this. */
  put: (obstacle: (res: ServerResponse) => void) => void;
  /** How many of them have not been met. */
  left: () => number;
  close: () => Promise<void>;
}

/** A proxy of the service. Its streams ask clients to come back at once. */
async function openGate(service: string): Promise<Gate> {
  const obstacles: ((res: ServerResponse) => void)[] = [];
  const open = new Set<ServerResponse>();
  const gate = createServer((req, res) => {
    const obstacle = obstacles.shift();
    res.setHeader("Access-Control-Allow-Origin", "*");
    if (req.url === "/page") res.setHeader("Content-Type", "text/html").end("<p>Sign in</p>");
    else if (obstacle !== undefined) obstacle(res);
    else {
      open.add(res);
      const { "last-event-id": last } = req.headers;
      const headers = last === undefined ? {} : { "last-event-id": last };
      get(`${service}${req.url}`, { headers }, (answer) => {
        res.writeHead(answer.statusCode ?? 0, { "Content-Type": "text/event-stream" });
        answer.on("data", (chunk: Buffer) => {
          res.write(String(chunk).replace("retry: 3000", "retry: 10"));
        });
        res.once("close", () => answer.destroy());
      });
    }
  });
  await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(gate.address() as AddressInfo).port}`,
    put(obstacle) {
      obstacles.push(obstacle);
      for (const res of open) res.destroy();
      open.clear();
    },
    left: () => obstacles.length,
    async close() {
      gate.closeAllConnections();
      await new Promise((resolve) => gate.close(resolve));
    },
  };
}

describe("the methods of ccxt pro", () => {
  it("go on exactly where they were, whatever they meet on the way back", async () => {
    const gate = await openGate(app.url);
    const exchange = new DexMarketData(gate.url, { minMs: 10, maxMs: 20 });
    const first = exchange.watchTrades("WETH/DAI");
    const [trade] = await writingUntil(first);
    for (const obstacle of Object.values(OBSTACLES)) {
      gate.put(obstacle);
      hour += 1;
      await write(database.writer, { trades: [aTrade({ hour, base: "0.001", quote: "0.1" })] });
      await until(gate.left, 0);
      const ids = (await ofRest("/v2/trades/weth/dai?limit=1000"))
        .map(({ id }: { id: number }) => String(id))
        .reverse()
        .filter((id: string) => Number(id) >= Number(trade?.id));
      await until(() => exchange.trades("WETH/DAI").map(({ id }) => id), ids);
    }
    exchange.close();
    await gate.close();
  });

  it("resolve with trades, ticker, candles and book as they change, without what is void", async () => {
    const exchange = new DexMarketData(app.url);
    expect(await exchange.watchTicker("WETH/DAI")).toMatchObject({
      ...{ symbol: "WETH/DAI", last: "100", baseVolume: "1", bid: "90", ask: "100" },
    });
    expect(await exchange.watchOHLCV("WETH/DAI", "1h")).toEqual([
      [Date.parse("2026-01-01T01:00:00Z"), "100", "100", "100", "100", "1"],
    ]);
    // The first trade took 1 of the 10 WETH.
    expect(await exchange.watchOrderBook("WETH/DAI", 5)).toMatchObject({
      bids: [["90", "10"]],
      asks: [["100", "9"]],
    });
    const [trade] = await writingUntil(exchange.watchTrades("WETH/DAI"));
    expect(trade).toMatchObject({ symbol: "WETH/DAI", price: "100", amount: "0.001" });

    const ids = async (): Promise<string[]> =>
      (await ofRest(`/v2/trades/weth/dai?limit=1000`))
        .map(({ id }: { id: number }) => String(id))
        .reverse()
        .filter((id: string) => Number(id) >= Number(trade?.id));
    const followed = () => exchange.trades("WETH/DAI").map(({ id }) => id);
    await until(followed, await ids());
    await takeBack(hour - 1);
    await until(followed, await ids());
    exchange.close();
  });

  it("are printed by the program", async () => {
    const program = runFile("examples/live/watch.ts", {}, [app.url, "WETH/DAI"]);
    await writingUntil(program.printed(/0\.001 at 100/));
    await program.printed(/^last 100, 0 % of the day$/m);
    await program.printed(/^bid 90, ask 100$/m);
    program.signal("SIGKILL");
    await program.ended;
  });
});

describeInChromium("the page", () => {
  let pages: Server;
  const browser = useBrowser();
  beforeAll(async () => {
    const page = await readFile(new URL("../../examples/live/page.html", import.meta.url));
    pages = createServer((_req, res) => res.setHeader("Content-Type", "text/html").end(page));
    await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => pages.close());

  it("of another origin shows the trades as they come, and takes off what is void", async () => {
    const { port } = pages.address() as AddressInfo;
    const { page, complaints } = await browser.open(
      `http://127.0.0.1:${port}/?service=${encodeURIComponent(app.url)}&market=WETH/DAI`,
    );
    const shown = () =>
      page.locator("#trades tr").evaluateAll((rows) => rows.map((row) => row.textContent));
    await writingUntil(page.locator("#trades tr").nth(1).waitFor());
    const expected = async (count: number): Promise<string[]> =>
      (await ofRest("/v2/trades/weth/dai?limit=1000"))
        .slice(0, count)
        .map(({ time, price, volume }: Record<string, string>) => [time, price, volume].join(""));
    while (!isDeepStrictEqual(await shown(), await expected((await shown()).length)))
      await sleep(20);
    // Counted once all trades are shown: the last of them may have come after the page had two.
    const count = (await shown()).length;
    await takeBack(hour - 1);
    while ((await shown()).length >= count) await sleep(20);
    expect(await shown()).toEqual(await expected((await shown()).length));
    expect(await page.locator("#last").textContent()).toBe("100");
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("goes on after a 503 on its way back", async () => {
    const gate = await openGate(app.url);
    const { port } = pages.address() as AddressInfo;
    const { page } = await browser.open(
      `http://127.0.0.1:${port}/?service=${encodeURIComponent(gate.url)}&market=WETH/DAI`,
    );
    await writingUntil(page.locator("#trades tr").nth(1).waitFor());
    // Each state, since a slow machine may look when the next has come.
    await page.evaluate(`
      states = [];
      new MutationObserver(() => states.push(document.getElementById("state").textContent))
        .observe(document.getElementById("state"), { childList: true });
    `);
    gate.put(OBSTACLES["503"]!);
    await until(gate.left, 0);
    await page.waitForFunction(
      'states.includes("reconnecting") && states.at(-1) === "live"',
      undefined,
      { timeout: 0 },
    );
    const rows = await page.locator("#trades tr").count();
    await writingUntil(page.locator("#trades tr").nth(rows).waitFor());
    await page.close();
    await gate.close();
  });
});

// The page of one market in Chromium while its stream is broken, refused or silent, while it is hidden, and for long.
import {
  createConnection,
  createServer,
  type AddressInfo,
  type Server,
  type Socket,
} from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Page, Route } from "playwright-core";
import { makeTestApp } from "../app.ts";
import { describeInChromium, useBrowser } from "../browser.ts";
import { aTrade, blockAt, setHead, write } from "../factories.ts";
import { serveEach } from "../served.ts";
import { fillPageExchange } from "./page-exchange.ts";
import { expected, shown, until } from "./panels.ts";

const { app, database } = serveEach(fillPageExchange);

const isEqualTo = (page: Page, pair: string, served = app) =>
  until(
    () => shown(page) as Promise<unknown>,
    () => expected(served, pair),
  );

describeInChromium("the page of a market, followed for long", () => {
  const browser = useBrowser();

  it("shows that the connection is lost, and mends it", async () => {
    const first = await makeTestApp(database.reader);
    const way = await Way.to(first.url);
    const { page } = await browser.open(`${way.url}/markets/WETH/DAI`);
    await page.waitForSelector("[role=status]:text('Live')");
    await isEqualTo(page, "WETH/DAI", first);
    way.close();
    await first.close();
    await page.waitForSelector("[role=status]:text('Connection lost')");
    await write(database.writer, { trades: [aTrade({ hour: 25, offer_id: 1, base: "0.5" })] });
    await setHead(database.writer, 26);
    way.open(app.url);
    await page.waitForSelector("[role=status]:text('Live')");
    await isEqualTo(page, "WETH/DAI");
    await page.close();
    await way.end();
  });

  /** Answers the page's questions about trades for the service; the blocks that they asked for. */
  async function answerTrades(page: Page, answer: (route: Route, least: number) => Promise<void>) {
    const asked: number[] = [];
    await page.route("**/v2/trades/**", async (route) => {
      const least = Number(route.request().headers()["x-min-block"]);
      asked.push(least);
      await answer(route, least);
    });
    return asked;
  }

  it("asks for no older block than its stream has sent, and takes no older one", async () => {
    const { page } = await browser.open("about:blank");
    let lagging = 2;
    const asked = await answerTrades(page, async (route) => {
      if (lagging === 0) return route.continue();
      lagging -= 1;
      await route.fulfill({
        status: 503,
        headers: { "X-Head-Block": String(blockAt(1)), "Retry-After": "1" },
      });
    });
    await page.goto(`${app.url}/markets/WETH/DAI`);
    await isEqualTo(page, "WETH/DAI");
    const head = (await app.request.get("/v2/prices")).headers["x-head-block"];
    expect(asked.map(String)).toEqual([head, head, head]);
    await page.close();
  });

  it("says that it reads what was traded, and not that nothing was, while the service cannot answer", async () => {
    const { page } = await browser.open("about:blank");
    await page.route(/\/v2\/(trades|candles)\//, (route) =>
      route.fulfill({ status: 503, headers: { "Retry-After": "1" } }),
    );
    await page.goto(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("#trades:has-text('What was traded is being read.')");
    expect(await page.content()).not.toContain("No trade yet");
    await page.unrouteAll();
    await page.waitForSelector("#trades tbody tr");
    await page.close();
  });

  it("begins anew where no service has the block any more", async () => {
    const { page } = await browser.open("about:blank");
    const asked = await answerTrades(page, async (route, least) => {
      if (least <= blockAt(2)) return route.continue();
      await route.fulfill({
        status: 503,
        headers: { "X-Head-Block": String(blockAt(asked.length % 3)), "Retry-After": "0" },
      });
    });
    await page.goto(`${app.url}/markets/WETH/DAI`);
    await isEqualTo(page, "WETH/DAI");
    // The highest of the blocks that they had.
    expect(asked.at(-1)).toBe(blockAt(2));
    expect(asked).toHaveLength(6);
    await page.close();
  });

  it("asks for no block that a reorganisation has taken back", async () => {
    await setHead(database.writer, 30);
    const { page } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("#summary");
    await isEqualTo(page, "WETH/DAI");
    const asked = await answerTrades(page, (route) => route.continue());
    await database.writer.query("select ingest.take_back($1)", [blockAt(24)]);
    while (asked.length === 0) await sleep(20);
    const head = (await app.request.get("/v2/prices")).headers["x-head-block"];
    expect(asked.map(String)).toEqual([head]);
    await isEqualTo(page, "WETH/DAI");
    await page.close();
  });

  it("leaves no stream open while it is hidden, and misses nothing", async () => {
    const { page, asked, complaints } = await browser.open(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("[role=status]:text('Live')");
    await isEqualTo(page, "WETH/DAI");
    const streams = () => asked.filter((url) => url.includes("/v2/stream"));
    expect(streams().length).toBe(1);
    await setHidden(page, true);
    while (complaints.length === 0) await sleep(50);
    expect(complaints).toEqual([`failed: ${streams()[0]}`]);
    await write(database.writer, { trades: [aTrade({ hour: 25, offer_id: 1, base: "0.5" })] });
    await setHead(database.writer, 26);
    await setHidden(page, false);
    await isEqualTo(page, "WETH/DAI");
    expect(streams().length).toBe(2);
    expect(new URL(streams()[1]!).searchParams.get("from")).not.toBeNull();
    await page.close();
  });

  it("shows that a service does not answer, though no connection breaks", async () => {
    const { page } = await browser.open("about:blank");
    await page.clock.install();
    await page.goto(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("[role=status]:text('Live')");
    await page.route(/\/(ready|v2\/stream)/, (route) => route.abort());
    await page.clock.fastForward(60_000);
    await page.waitForSelector("[role=status]:text('Connection lost')");
    await page.unrouteAll();
    await page.clock.fastForward(60_000);
    await page.waitForSelector("[role=status]:text('Live')");
    await isEqualTo(page, "WETH/DAI");
    await page.close();
  });

  it.each<[string, { status: number; headers?: Record<string, string> }]>([
    ["429", { status: 429, headers: { "Retry-After": "1" } }],
    ["502", { status: 502 }],
    ["503", { status: 503, headers: { "Retry-After": "1" } }],
    ["a redirect to what is no stream", { status: 302, headers: { Location: "/docs" } }],
    ["a redirect to nothing", { status: 302, headers: { Location: "/nowhere" } }],
  ])("comes back after %s at a reconnect, and misses nothing", async (_, answer) => {
    const { page } = await browser.open("about:blank");
    await page.clock.install();
    await page.goto(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("[role=status]:text('Live')");
    let refused = 0;
    await page.route("**/v2/stream?*", async (route) => {
      refused += 1;
      await route.fulfill(answer);
    });
    await setHidden(page, true);
    await setHidden(page, false);
    await page.waitForSelector("[role=status]:text('Connection lost')");
    while (refused < 3) await page.clock.fastForward(1000);
    await write(database.writer, { trades: [aTrade({ hour: 25, offer_id: 1, base: "0.25" })] });
    await setHead(database.writer, 26);
    await page.unrouteAll();
    await page.clock.fastForward(10_000);
    await page.waitForSelector("[role=status]:text('Live')");
    await isEqualTo(page, "WETH/DAI");
    await page.close();
  });

  it("shows why the service is not ready, and no longer once a new head has ended it", async () => {
    const { page } = await browser.open("about:blank");
    // The page asks again every 30 s: without that turn, only the new head makes it ask.
    await page.addInitScript(`{
      const every = window.setInterval;
      window.setInterval = (act, ms) => (ms === 30_000 ? 0 : every(act, ms));
    }`);
    let reasons = ["The last block is 90 s old"];
    await page.route("**/ready", (route) => route.fulfill({ json: { reasons } }));
    await page.goto(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector(
      ".behind:text-is('The service is not ready: The last block is 90 s old')",
    );
    reasons = [];
    await setHead(database.writer, 25);
    await page.waitForSelector(".behind", { state: "detached" });
    await page.close();
  });

  it("shows beside the server's tables that it gets no stream", async () => {
    const { page } = await browser.open("about:blank");
    await page.route("**/v2/stream?*", (route) => route.abort());
    await page.goto(`${app.url}/markets/WETH/DAI`);
    await page.waitForSelector("[role=status]:text('Connection lost')");
    expect(await page.locator("caption:has-text('Newest trades')").count()).toBe(1);
    await page.unrouteAll();
    await page.waitForSelector("#summary");
    await isEqualTo(page, "WETH/DAI");
    expect(await page.locator(".connection").count()).toBe(1);
    await page.close();
  });

  it("leaves no memory and no listener after an hour's worth of updates", async () => {
    const { page, complaints } = await browser.open(`${app.url}/markets/WETH/DAI?interval=1m`);
    await page.waitForSelector("#summary");
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Performance.enable");
    let hour = 25;
    /** A block each 5 seconds of an hour. */
    const anHour = async (): Promise<void> => {
      for (let n = 0; n < 720; n += 1) {
        hour += 5 / 3600;
        await write(database.writer, {
          trades: [aTrade({ hour, offer_id: 90, base: "0.001", quote: `0.1${n}` })],
        });
      }
      await until(
        async () => (await shown(page)).trades[0],
        async () => (await expected(app, "WETH/DAI")).trades[0],
      );
    };
    const used = async () => {
      await devtools.send("HeapProfiler.collectGarbage");
      const { metrics } = await devtools.send("Performance.getMetrics");
      const of = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? 0;
      return { heap: of("JSHeapUsedSize"), listeners: of("JSEventListeners"), nodes: of("Nodes") };
    };
    await anHour();
    const before = await used();
    await anHour();
    const after = await used();
    expect(after.listeners).toBeLessThanOrEqual(before.listeners + 5);
    expect(after.nodes).toBeLessThanOrEqual(before.nodes * 1.1);
    expect(after.heap).toBeLessThanOrEqual(before.heap + 2_000_000);
    expect(complaints).toEqual([]);
    await page.close();
  });
});

/** As if the reader had gone to another tab, or came back. */
const setHidden = (page: Page, isHidden: boolean): Promise<unknown> =>
  page.evaluate(`{
    Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }`);

/** A way to a service that can be closed: a service that comes back has another port. */
class Way {
  #target: string | undefined;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((socket) => {
      if (this.#target === undefined) {
        socket.destroy();
        return;
      }
      const { hostname, port } = new URL(this.#target);
      const onward = createConnection(Number(port), hostname);
      for (const [one, other] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        this.#sockets.add(one);
        one.on("error", () => other.destroy()).on("close", () => this.#sockets.delete(one));
        one.pipe(other);
      }
    });
  }

  static async to(target: string): Promise<Way> {
    const way = new Way(target);
    await new Promise<void>((resolve) => way.#server.listen(0, "127.0.0.1", resolve));
    return way;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  open(target: string): void {
    this.#target = target;
  }

  close(): void {
    this.#target = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  async end(): Promise<void> {
    this.close();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

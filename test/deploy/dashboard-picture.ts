// Draws the dashboard of deploy/grafana/ from what a Prometheus answers to its queries: `npm run generate -- dashboard`.
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startNodeProcess } from "../../bench/chain/node-process.ts";

import { readCommandLine } from "../../db/command-line.ts";
import { chromiumPath, TestBrowser } from "../browser.ts";
import { freePort } from "../free-port.ts";
import { DataDirs, startService } from "../service.ts";
import { pageOf, type Drawn } from "./dashboard-page.ts";

readCommandLine({
  usage: `Usage: npm run generate -- dashboard

Runs the service with an indexer, clients and followers beside a Prometheus for some minutes, asks it each query of
deploy/grafana/dashboard.json, and draws the answers as docs/pictures/dashboard.png. Fails where a query is refused.
Needs prometheus and Chromium.

  --help  show this`,
  options: {},
});

const ROOT = join(import.meta.dirname, "../..");
const SECONDS = 240;
const HISTORY = 200;
/** What the clients ask, some of it wrong. */
const PATHS = [
  "/v1/markets/",
  "/v2/trades/weth/dai?limit=20",
  "/v2/candles/weth/dai",
  "/v2/nothing",
];
const QUERY = "{ allDexTrades(first: 20) { totalCount nodes { id price } } }";

interface Panel {
  type: string;
  title: string;
  gridPos: Drawn["at"];
  targets?: { expr: string; legendFormat?: string }[];
  options?: { textMode?: string };
  fieldConfig?: { defaults?: { unit?: string; mappings?: { options: Drawn["texts"] }[] } };
}

interface Answer {
  status: string;
  error?: string;
  data: { result: { metric: Record<string, string>; values: [number, string][] }[] };
}

await using stack = new AsyncDisposableStack();
const folders = new DataDirs();
stack.defer(() => folders.remove());
const length = HISTORY + SECONDS;
const node = await startNodeProcess({
  ...{ events: length * 10, blocks: length, head: HISTORY },
  ...{ firstTimestamp: Math.floor(Date.now() / 1000) - HISTORY, secondsApart: 1 },
});
stack.defer(() => node.stop());
const metricsPort = await freePort();
const service = startService({
  ...{ RPC_URL: node.url, EXCHANGE: node.exchange, FROM_BLOCK: String(node.firstBlock) },
  ...{ DATA_DIR: await folders.make(), METRICS_PORT: String(metricsPort) },
});
stack.defer(async () => {
  service.signal("SIGTERM");
  await service.ended;
});
const url = await service.url;

const scraping = await mkdtemp(join(tmpdir(), "dex-prometheus-"));
stack.defer(() => rm(scraping, { recursive: true, force: true }));
const given = await readFile(join(ROOT, "deploy/prometheus/prometheus.yml"), "utf8");
await writeFile(
  join(scraping, "prometheus.yml"),
  given
    .replaceAll("15s", "2s")
    .replace("127.0.0.1:9464", `127.0.0.1:${metricsPort}`)
    .replace("alerts.yml", join(ROOT, "deploy/prometheus/alerts.yml")),
);
const prometheusUrl = `http://127.0.0.1:${await freePort()}`;
const prometheus = spawn(
  "prometheus",
  [
    `--config.file=${join(scraping, "prometheus.yml")}`,
    `--storage.tsdb.path=${join(scraping, "data")}`,
    `--web.listen-address=${prometheusUrl.slice("http://".length)}`,
  ],
  { stdio: "ignore" },
);
const stopped = new Promise((resolve) => prometheus.once("close", resolve));
stack.defer(async () => {
  prometheus.kill();
  await stopped;
});

const began = Date.now() / 1000;
const stopping = new AbortController();
stack.defer(() => stopping.abort());
for (let second = 1; second <= SECONDS; second += 1) {
  await node.setHead(HISTORY + second);
  if (second % 20 === 0) {
    void fetch(`${url}/v2/stream?topics=head`, { signal: stopping.signal }).catch(() => undefined);
  }
  const asked = Array.from({ length: 4 + Math.round(3 * Math.sin(second / 20)) }, (_, n) =>
    fetch(`${url}${PATHS[n % PATHS.length]}`, { signal: stopping.signal }),
  );
  asked.push(
    fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query: second % 10 === 0 ? "{ nothing }" : QUERY }),
    }),
  );
  await Promise.all([sleep(1000), ...asked.map(async (answer) => (await answer).text())]);
}

const { panels } = JSON.parse(
  await readFile(join(ROOT, "deploy/grafana/dashboard.json"), "utf8"),
) as { panels: Panel[] };
const drawn: Drawn[] = [];
for (const { type, title, gridPos, targets = [], options, fieldConfig } of panels) {
  const lines: Drawn["lines"] = [];
  for (const { expr, legendFormat = "" } of targets) {
    const query = expr
      .replaceAll("$job", "dex")
      .replaceAll("$instance", ".*")
      .replaceAll("$__rate_interval", "20s");
    const range = new URLSearchParams({
      ...{ query, start: String(began + 20), end: String(began + SECONDS), step: "2" },
    });
    const response = await fetch(`${prometheusUrl}/api/v1/query_range?${range.toString()}`);
    const { status, error, data } = (await response.json()) as Answer;
    if (status !== "success") throw new Error(`${title}: ${query}: ${error}`);
    for (const { metric, values } of data.result) {
      const name = legendFormat.replace(
        /\{\{\s*(\w+)\s*\}\}/g,
        (_, label: string) => metric[label] ?? "",
      );
      lines.push({ name, points: values.map(([at, value]) => [at - began, Number(value)]) });
    }
  }
  const { unit = "none", mappings = [] } = fieldConfig?.defaults ?? {};
  const isName = options?.textMode === "name";
  drawn.push({ type, title, at: gridPos, unit, isName, texts: mappings[0]?.options ?? {}, lines });
}

if (chromiumPath === undefined) throw new Error("Chromium is not installed; set CHROMIUM");
const browser = new TestBrowser();
stack.defer(() => browser.close());
const { page } = await browser.open("about:blank", { viewport: { width: 1280, height: 800 } });
await page.setContent(pageOf(drawn));
await page.screenshot({ path: join(ROOT, "docs/pictures/dashboard.png"), fullPage: true });
const empty = drawn.filter(({ type, lines }) => type !== "row" && lines.length === 0);
console.log(`Without data: ${empty.map(({ title }) => title).join(", ") || "none"}`);

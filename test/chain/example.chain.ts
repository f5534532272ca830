// The loop of a user: a chain with an exchange, the service that indexes it, and the README that shows it.
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { DataDirs, startService, type Service } from "../service.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));

const dataDirs = new DataDirs();
let example: ChildProcessWithoutNullStreams;
let output = "";
let service: Service;

/** Resolves once the example has printed this. */
async function printed(text: RegExp): Promise<RegExpExecArray> {
  for (;;) {
    const found = text.exec(output);
    if (found !== null) return found;
    if (example.exitCode !== null) throw new Error(output);
    await sleep(50);
  }
}

beforeAll(async () => {
  example = spawn(process.execPath, [pathOf("examples/chain/main.ts"), "--port", "0"]);
  for (const stream of [example.stdout, example.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const [, RPC_URL = "", EXCHANGE = "", FROM_BLOCK = ""] = await printed(
    /RPC_URL=(\S+) EXCHANGE=(\S+) FROM_BLOCK=(\S+) DATA_DIR=\S+ npm start/,
  );
  service = startService({ RPC_URL, EXCHANGE, FROM_BLOCK, DATA_DIR: await dataDirs.make() });
});

afterAll(async () => {
  service.signal("SIGTERM");
  await service.ended;
  example.kill();
  await new Promise((resolve) => example.once("close", resolve));
  await dataDirs.remove();
});

const get = async (path: string): Promise<string> =>
  (await fetch(`${await service.url}${path}`)).text();

/** Resolves to the first answer that holds this text. */
async function until(path: string, text: string): Promise<string> {
  for (;;) {
    const answer = await get(path);
    if (answer.includes(text)) return answer;
    await sleep(50);
  }
}

it("serves what the README shows", async () => {
  const readme = await readFile(pathOf("README.md"), "utf8");
  // The time of the chain's last block, which is no trade's.
  const markets = await until("/v1/markets/", '"time":1769860875');

  expect(readme).toContain(/EXCHANGE=\S+/.exec(output)![0]);
  const [, shown = ""] = /^## Index a chain$[^]*?```json\n([^]*?)```/m.exec(readme) ?? [];
  expect(JSON.parse(shown)).toEqual(JSON.parse(markets));
});

it("is ready, with the indexer's metrics, and follows the next trade", async () => {
  await until("/ready", '"ready"');
  example.stdin.write("\n");
  // A tenth of a WETH at 2,490 DAI.
  await until("/v2/prices/weth/dai", '"last":"2490"');

  // The service may show a block a moment before its indexer has seen that it is committed.
  const metrics = await until("/metrics", "\ndex_chain_indexed_block 6\n");
  expect(metrics).toMatch(/^dex_chain_lag_blocks 0$/m);
  expect(metrics).toMatch(/^dex_chain_events_total 8$/m);
  // A newcomer could not read a warning.
  expect(service.output()).not.toMatch(/"level":[4-6]0/);
});

// The log: what its lines say, what they never say, and that none is lost.
import { mkdtemp, open, readFile, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { openLog, type Log, type LogLevel } from "../../../server/observe/log.ts";
import type { Observation } from "../../../server/observe/observation.ts";
import { clusterUrl, makeDatabase } from "../../database.ts";
import { startService } from "../../service.ts";

let folder: string;
let file: FileHandle;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "dex-log-"));
  file = await open(join(folder, "log"), "w");
});
afterEach(async () => {
  await file.close();
  await rm(folder, { recursive: true });
});

async function logged(speak: (log: Log) => void, options: object = {}): Promise<string> {
  const log = await openLog({ level: "trace", fd: file.fd, isTerminal: false, ...options });
  speak(log);
  log.flush();
  return readFile(join(folder, "log"), "utf8");
}

const lines = (text: string): Record<string, unknown>[] =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const aRequest = (fields: Partial<Observation> = {}): Observation => ({
  id: "an-id",
  method: "GET",
  headers: [],
  route: "/v2/trades/:base/:quote",
  operation: undefined,
  errors: undefined,
  cache: undefined,
  answeredAs: undefined,
  databaseMs: 1,
  startedAt: 0,
  status: 200,
  ms: 1.234567,
  isAborted: false,
  ...fields,
});

it("has a line of JSON for a request, of what is known of it and nothing else", async () => {
  const text = await logged((log) => {
    log.request(aRequest());
    log.request(
      aRequest({
        method: "POST",
        route: "/graphql",
        operation: "Trades",
        errors: ["UNAVAILABLE", 'say "no"\n'],
        cache: "shared",
        answeredAs: "another-id",
        status: 503,
        isAborted: true,
      }),
    );
  });

  expect(lines(text)).toEqual([
    {
      level: 30,
      time: expect.any(Number),
      requestId: "an-id",
      method: "GET",
      route: "/v2/trades/:base/:quote",
      status: 200,
      ms: 1.235,
      msg: "request",
    },
    {
      level: 40,
      time: expect.any(Number),
      requestId: "an-id",
      method: "POST",
      route: "/graphql",
      operation: "Trades",
      errors: ["UNAVAILABLE", 'say "no"\n'],
      status: 503,
      ms: 1.235,
      cache: "shared",
      answeredAs: "another-id",
      isAborted: true,
      msg: "request",
    },
  ]);
});

it("tells a fault whole, under its request", async () => {
  const fault = Object.assign(new Error("it broke", { cause: new Error("of that") }), {
    code: "XX000",
  });
  const text = await logged((log) => {
    log.error(fault, "an-id");
    log.error("no Error at all");
  });

  const [first, second] = lines(text);
  expect(first).toMatchObject({
    level: 50,
    requestId: "an-id",
    err: { type: "Error", code: "XX000", stack: expect.stringContaining("log.test.ts") },
    msg: expect.stringContaining("it broke"),
  });
  expect(JSON.stringify(first)).toContain("of that");
  expect(second).toMatchObject({ level: 50, err: "no Error at all" });
  expect(second).not.toHaveProperty("requestId");
});

it.each<[LogLevel, number]>([
  ["info", 4],
  ["warn", 3],
  ["error", 1],
  ["silent", 0],
])("has from level %s on %d of four lines", async (level, count) => {
  const text = await logged(
    (log) => {
      log.info("for your information");
      log.warn("be warned");
      log.request(aRequest({ status: 500 }));
      log.error(new Error("a fault"));
    },
    { level },
  );
  expect(lines(text)).toHaveLength(count);
});

it("loses no line and keeps their order, however many come at once", async () => {
  const text = await logged((log) => {
    for (let n = 0; n < 20_000; n += 1) log.info(`line ${n}`);
  });
  expect(lines(text).map(({ msg }) => msg)).toEqual(
    Array.from({ length: 20_000 }, (_, n) => `line ${n}`),
  );
});

it("writes a line within moments, without being told to", async () => {
  const log = await openLog({ level: "info", fd: file.fd, isTerminal: false });
  log.info("by itself");
  let text = "";
  while (text === "") {
    await new Promise((resolve) => setTimeout(resolve, 10));
    text = await readFile(join(folder, "log"), "utf8");
  }
  expect(lines(text)).toMatchObject([{ msg: "by itself" }]);
});

it("is for eyes on a terminal", async () => {
  const text = await logged(
    (log) => {
      log.info("GraphiQL  http://127.0.0.1:3000/graphiql");
      log.request(aRequest({ cache: "hit" }));
      log.error(new Error("a fault"), "an-id");
    },
    { isTerminal: true },
  );
  const plain = stripVTControlCharacters(text);
  expect(plain).toMatch(
    /^\[\d\d:\d\d:\d\d\] INFO: GraphiQL {2}http:\/\/127.0.0.1:3000\/graphiql$/m,
  );
  expect(plain).toMatch(
    /^\[\d\d:\d\d:\d\d\] INFO: GET \/v2\/trades\/:base\/:quote 200 1.235 ms hit an-id$/m,
  );
  expect(plain).toMatch(/^\[\d\d:\d\d:\d\d\] ERROR: a fault an-id$/m);
  expect(plain).toContain("log.test.ts");
});

it("is all that the service writes, line by line, and is out whole when it ends", async () => {
  const database = await makeDatabase();
  const service = startService({ DATABASE_URL: database.url });
  const url = await service.url;
  const address = "0x3cFBE0465327B8407A5A01baB92998e797d9adBC";
  const secret = new URL(clusterUrl()).password;

  await fetch(`${url}/v2/trades/weth/dai?fromId=77&wallet=${address}`);
  await fetch(`${url}/nowhere/${address}`);
  for (let n = 0; n < 2; n += 1) {
    const answer = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Request-Id": `the-query-${n}` },
      body: JSON.stringify({
        query:
          "query OfTaker($taker: String) { allDexTrades(condition: { taker: $taker }) { totalCount } }",
        variables: { taker: address },
      }),
    });
    await answer.text();
  }
  service.signal("SIGTERM");
  const { stdout, stderr } = await service.ended;
  await database.drop();

  const requests = lines(stdout).filter(({ msg }) => msg === "request");
  expect(requests).toMatchObject([
    { method: "GET", route: "/v2/trades/:base/:quote", status: 400 },
    { method: "GET", status: 404 },
    { requestId: "the-query-0", route: "/graphql", operation: "OfTaker" },
    { requestId: "the-query-1", route: "/graphql", operation: "OfTaker" },
  ]);
  expect(lines(stdout).at(-1)).toMatchObject({ msg: "Stopping …" });
  expect(stdout).not.toContain(address);
  if (secret !== "") expect(stdout).not.toContain(secret);
  expect(stderr).toBe("");
});

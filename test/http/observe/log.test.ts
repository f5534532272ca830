// The log: what its lines say, what they never say, and that none is lost.
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { mkdtemp, open, readFile, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { openLog, type Log, type LogLevel } from "../../../http/observe/log.ts";
import { stateOf, type RequestState } from "../../../http/request.ts";
import { clusterUrl, makeDatabase } from "../../database.ts";
import { PATIENT, startService } from "../../service.ts";

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

const aRequest = (fields: Partial<RequestState> = {}): RequestState =>
  Object.assign(stateOf(new IncomingMessage(new Socket())), {
    id: "an-id",
    method: "GET",
    route: "/v2/trades/:base/:quote",
    status: 200,
    ms: 1.234567,
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

it("has a fault whole, under its request", async () => {
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
    for (let n = 0; n < 20_000; n += 1) {
      // What is said between requests stands between their lines.
      if (n % 300 === 7) log.info(`line ${n}`);
      else log.request(aRequest({ id: `line ${n}` }));
    }
  });
  expect(lines(text).map(({ msg, requestId }) => requestId ?? msg)).toEqual(
    Array.from({ length: 20_000 }, (_, n) => `line ${n}`),
  );
});

it("has each request's own, however alike those of a route are", async () => {
  const requests: Partial<RequestState>[] = [
    { id: "1", status: 200, cache: "miss" },
    { id: "2", status: 200, cache: "hit" },
    { id: "3", status: 200, cache: "hit", ms: 2 },
    { id: "4", status: 304, cache: "hit" },
    { id: "5", status: 304, cache: "hit", method: "HEAD" },
    { id: "6", status: 304, cache: "hit", method: "HEAD", operation: "A" },
    { id: "7", status: 304, cache: "hit", method: "HEAD", operation: "B" },
    { id: "8", status: 304, cache: "hit", method: "HEAD", operation: "B", errors: ["E"] },
    { id: "9", status: 304, cache: "hit", method: "HEAD", operation: "B", route: undefined },
    { id: "10", status: 200, cache: "miss" },
  ];
  const text = await logged((log) => {
    for (const fields of requests) log.request(aRequest(fields));
  });
  expect(lines(text)).toEqual(
    requests.map(({ id, ...fields }) => {
      const line = {
        ...{ level: 30, time: expect.any(Number), requestId: id, msg: "request" },
        ...{ method: "GET", route: "/v2/trades/:base/:quote", ms: 1.235 },
        ...fields,
      };
      return Object.fromEntries(Object.entries(line).filter(([, value]) => value !== undefined));
    }),
  );
});

it.each([
  [0, 0],
  [0.0004, 0],
  [0.0006, 0.001],
  [0.05, 0.05],
  [1.0494, 1.049],
  [12, 12],
  [999.9996, 1000],
  [123_456.7891, 123_456.789],
])("has that a request took %s ms to the microsecond", async (ms, told) => {
  const text = await logged((log) => log.request(aRequest({ ms })));
  expect(lines(text)).toMatchObject([{ ms: told }]);
});

it("has when each request ended", async () => {
  const before = Date.now();
  const text = await logged((log) => log.request(aRequest()));
  const [{ time } = {}] = lines(text);
  expect(time).toBeGreaterThanOrEqual(before);
  expect(time).toBeLessThanOrEqual(Date.now());
});

it.each<[string, (log: Log) => void, object]>([
  ["a message", (log) => log.info("by itself"), { msg: "by itself" }],
  ["a request", (log) => log.request(aRequest()), { requestId: "an-id" }],
])("writes %s within moments, without a flush", async (_what, speak, expected) => {
  const log = await openLog({ level: "info", fd: file.fd, isTerminal: false });
  speak(log);
  let text = "";
  while (text === "") {
    await new Promise((resolve) => setTimeout(resolve, 10));
    text = await readFile(join(folder, "log"), "utf8");
  }
  expect(lines(text)).toMatchObject([expected]);
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
  await using database = await makeDatabase();
  const service = startService({ DATABASE_URL: database.url, ...PATIENT });
  const url = await service.url;
  const address = "0x3cFBE0465327B8407A5A01baB92998e797d9adBC";
  const secret = new URL(clusterUrl()).password;

  for (const path of [`v2/trades/weth/dai?fromId=77&wallet=${address}`, `nowhere/${address}`]) {
    await (await fetch(`${url}/${path}`)).text();
  }
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

  const requests = lines(stdout).filter(({ msg }) => msg === "request");
  expect(requests).toMatchObject([
    { method: "GET", route: "/v2/trades/:base/:quote", status: 400 },
    { method: "GET", status: 404 },
    { requestId: "the-query-0", route: "/graphql", operation: "OfTaker" },
    { requestId: "the-query-1", route: "/graphql", operation: "OfTaker" },
  ]);
  // The line of the last request may come after it.
  expect(lines(stdout).slice(-2)).toContainEqual(expect.objectContaining({ msg: "Stopping …" }));
  expect(stdout).not.toContain(address);
  if (secret !== "") expect(stdout).not.toContain(secret);
  expect(stderr).toBe("");
});

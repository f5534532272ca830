// Measures the REST and GraphQL cases on all contenders, after checking that their answers are equal.
import { isDeepStrictEqual } from "node:util";
import { connect } from "../db/connect.ts";
import {
  byId,
  cursorRequest,
  everyEndpoint,
  graphqlCases,
  graphqlRequest,
  readFacts,
  restCases,
  totalCases,
  type Case,
  type Facts,
  type GraphqlCase,
} from "./cases.ts";
import {
  CONTENDERS,
  MATCHES,
  startAsking,
  startKnowing,
  startService,
  type Contender,
  type KnownAnswer,
} from "./contenders.ts";
import { alternate, type Entry, type Measured } from "./load/alternate.ts";
import { askFor, askOnce } from "./load/client.ts";
import { runPgbench, type BoundStatement } from "./load/pgbench.ts";
import type { BenchRequest } from "./load/request.ts";
import { startWriter } from "./load/writer.ts";
import type { BenchOptions, Part } from "./options.ts";
import { recordPages, type NamedRequest } from "./servers/recorded-page.ts";
import { PROGRAMS, startServer, type RunningServer } from "./servers/start.ts";

export interface Comparison {
  measured: Measured[];
  /** Memory of the service's processes after the load, in kilobytes; empty except on Linux. */
  memory: { contender: string; now: number; peak: number }[];
  /** Number of trades that the writer wrote during the measurement. */
  written: number;
}

export interface CompareOptions extends BenchOptions {
  databaseUrl: string;
  fewUrl: string;
  hasPgbench: boolean;
  log: (line: string) => void;
}

/** The request to each contender in one case. */
interface Contest {
  name: string;
  requests: Partial<Record<Contender, BenchRequest>>;
  statement: BoundStatement | undefined;
}

type Servers = Partial<Record<Contender, RunningServer>>;

/** Measures the parts of `options.parts` that send requests. */
export async function compare(options: CompareOptions): Promise<Comparison> {
  const { databaseUrl, log } = options;
  const has = (part: Part): boolean => options.parts.includes(part);
  await using stack = new AsyncDisposableStack();

  const facts = await readFactsOf(databaseUrl);
  const pages = graphqlCases(facts);
  log("Recording the SQL of PostGraphile");
  const recorded = await recordPages(databaseUrl, await requestsToPlain(databaseUrl, pages));
  const asking = await startAsking(databaseUrl, recorded, stack);
  const rest = restContests(await restCases(options.trades));
  const graphql = await graphqlContests(pages, asking, recorded);
  const contests = [
    ...(has("rest") || has("cached") ? rest : []),
    ...(has("graphql") || has("cached") ? graphql : []),
  ];
  const knowing = await startKnowing(await knownAnswers(contests, asking.service), stack);
  const servers: Servers = { ...asking, ...knowing };
  await checkEqual(contests, servers);

  const measured: Measured[] = [];
  for (const [part, chosen] of [
    ["REST", has("rest") ? rest : []],
    ["GraphQL", has("graphql") ? graphql : []],
  ] as const) {
    if (chosen.length === 0) continue;
    log(`${part}, side by side`);
    measured.push(...(await alternate(entriesOf(chosen, servers, options), options, log)));
  }
  if (has("cached")) {
    // Skip the cases that were measured above.
    const chosen = [...(has("rest") ? [] : rest), ...(has("graphql") ? [] : graphql)];
    log("Answers from memory, side by side");
    const fromMemory = { cached: asking.cached, ...knowing };
    const entries = entriesOf(chosen, fromMemory, { ...options, hasPgbench: false });
    measured.push(...(await alternate(entries, options, log)));
  }

  let tradesWritten = 0;
  if (has("writer")) {
    const byMarket = graphql.slice(0, 2);
    const totals = totalCases(facts).map(({ name, request }) => ({
      name,
      requests: { service: request },
      statement: undefined,
    }));
    log("Pages and their totals");
    // The first count of a set reads it: 16 of them at once take all connections for longer than others wait.
    for (const { requests } of totals) await askOnce(asking.service.url, requests.service);
    measured.push(...(await alternate(entriesOf(totals, asking, options), options, log)));
    log("Pages and their totals with a writer at work");
    const written = [...byMarket, ...totals].map(({ name, requests }) => ({
      name: `${name}${WRITING}`,
      requests,
      statement: undefined,
    }));
    const writer = await startWriter(databaseUrl);
    try {
      measured.push(...(await alternate(entriesOf(written, asking, options), options, log)));
    } finally {
      tradesWritten = await writer.stop();
    }
  }

  const memory = await memoryOf({ service: asking.service, cached: asking.cached });
  if (has("growth")) measured.push(...(await compareGrowth(options, asking.service, stack)));
  return { measured, memory, written: tradesWritten };
}

/** Suffix of the names of cases that run beside a writer. */
export const WRITING = ", a writer at work";

/** The name of an endpoint's case in the comparison of history sizes. */
export const growthCase = (path: string): string => `${path} by size`;

async function compareGrowth(
  options: CompareOptions,
  many: RunningServer,
  stack: AsyncDisposableStack,
): Promise<Measured[]> {
  options.log("Every endpoint of REST, on a long and a short history");
  const few = await startService(options.fewUrl, "off");
  stack.defer(() => few.stop());
  const entries = (await everyEndpoint()).flatMap(({ name, request }) =>
    [
      { trades: options.trades, server: many },
      { trades: options.fewTrades, server: few },
    ].map(({ trades, server }) => ({
      case: growthCase(name),
      contender: sizeName(trades),
      match: "by size",
      ask: (load: Parameters<Entry["ask"]>[0]) => askFor(server.url, request, load),
      processorTime: () => server.processorTime(),
    })),
  );
  return alternate(entries, options, options.log);
}

export const sizeName = (trades: number): string => `${trades.toLocaleString("en")} trades`;

async function readFactsOf(databaseUrl: string): Promise<Facts> {
  const client = await connect(databaseUrl, { role: "dex_reader" });
  try {
    return await readFacts(client);
  } finally {
    await client.end();
  }
}

/** The requests to the plain PostGraphile, whose SQL the hand-written server then uses. */
async function requestsToPlain(databaseUrl: string, pages: GraphqlCase[]): Promise<NamedRequest[]> {
  const plain = await startServer(PROGRAMS.plainPostgraphile, { DATABASE_URL: databaseUrl });
  try {
    const requests: NamedRequest[] = [];
    for (const page of pages) {
      requests.push({ name: page.operation, request: await requestTo(plain, byId(page)) });
    }
    return requests;
  } finally {
    await plain.stop();
  }
}

const CURSOR_ATTEMPTS = 5;

/** The request of a page to this server; cursors differ between servers. */
export async function requestTo(
  server: Pick<RunningServer, "url">,
  page: GraphqlCase,
): Promise<BenchRequest> {
  if (page.cursorAfter === undefined) return graphqlRequest(page);
  // The deepest takes long while PostgreSQL has not read the history into its memory.
  for (let attempt = 1; ; attempt += 1) {
    const { body } = await askOnce(server.url, cursorRequest(page.cursorAfter, page.orderBy));
    const found = /"cursor":"([^"]+)"/.exec(body.toString())?.[1];
    if (found !== undefined) return graphqlRequest(page, found);
    if (attempt === CURSOR_ATTEMPTS) {
      throw new Error(`no cursor for ${page.name}: ${body.toString()}`);
    }
  }
}

const restContests = (cases: (Case & { statement: BoundStatement })[]): Contest[] =>
  cases.map(({ name, request, statement }) => ({
    name,
    requests: { service: request, cached: request, handWritten: request },
    statement,
  }));

async function graphqlContests(
  pages: GraphqlCase[],
  asking: Record<"service" | "plain", RunningServer>,
  recorded: { nodes: BoundStatement; count?: BoundStatement }[],
): Promise<Contest[]> {
  return Promise.all(
    pages.map(async (page, at) => {
      const own = await requestTo(asking.service, page);
      const sent = recorded[at];
      return {
        name: page.name,
        requests: {
          service: own,
          cached: own,
          plain: await requestTo(asking.plain, byId(page)),
          handWritten: graphqlRequest(page),
        },
        // pgbench runs one statement, but a page with its total needs two.
        statement: sent?.count === undefined ? sent?.nodes : undefined,
      };
    }),
  );
}

/**
 * The service's answers, for the servers that send fixed bytes. Also adds the requests to these servers to
 * the contests.
 */
async function knownAnswers(contests: Contest[], service: RunningServer): Promise<KnownAnswer[]> {
  return Promise.all(
    contests.map(async (contest, at) => {
      const { service: request } = contest.requests;
      if (request === undefined) throw new Error(`${contest.name} has no request to the service`);
      const path = `/answers/${at}`;
      contest.requests.sameBytes = { ...request, path };
      contest.requests.bareNode = { ...request, path };
      const { body } = await askOnce(service.url, request);
      return { method: request.method, path, body: body.toString() };
    }),
  );
}

/** Throws if the answer of a contender differs from that of the service. */
async function checkEqual(contests: Contest[], servers: Servers): Promise<void> {
  for (const { name, requests } of contests) {
    let expected: unknown;
    for (const [contender, request] of Object.entries(requests)) {
      const server = servers[contender as Contender];
      if (server === undefined) continue;
      const { status, body } = await askOnce(server.url, request);
      const answer: unknown = JSON.parse(body.toString());
      expected ??= answer;
      if (status === 200 && isDeepStrictEqual(answer, expected)) continue;
      throw new Error(
        `${name}: ${contender} answers ${status} and ${body.toString().slice(0, 300)}, ` +
          `not ${JSON.stringify(expected).slice(0, 300)}`,
      );
    }
  }
}

function entriesOf(
  contests: Contest[],
  servers: Servers,
  { databaseUrl, hasPgbench }: CompareOptions,
): Entry[] {
  return contests.flatMap(({ name, requests, statement }) => {
    const entries: Entry[] = [];
    for (const contender of Object.keys(CONTENDERS) as Contender[]) {
      const server = servers[contender];
      const request = requests[contender];
      if (server === undefined || request === undefined) continue;
      entries.push({
        case: name,
        contender: CONTENDERS[contender],
        match: MATCHES[contender],
        ask: (load) => askFor(server.url, request, load),
        processorTime: () => server.processorTime(),
      });
    }
    if (hasPgbench && statement !== undefined) {
      entries.push({
        case: name,
        contender: CONTENDERS.pgbench,
        ask: (load) => runPgbench(databaseUrl, statement, load),
      });
    }
    return entries;
  });
}

async function memoryOf(
  servers: Record<"service" | "cached", RunningServer>,
): Promise<Comparison["memory"]> {
  const found = await Promise.all(
    Object.entries(servers).map(async ([contender, server]) => {
      const memory = await server.memory();
      return memory && { contender: CONTENDERS[contender as Contender], ...memory };
    }),
  );
  return found.filter((memory) => memory !== undefined);
}

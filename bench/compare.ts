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
import { log, whole } from "./harness.ts";
import { alternate, type Entry, type Measured } from "./load/alternate.ts";
import { askFor, askOnce, type Load } from "./load/client.ts";
import type { BenchRequest } from "./load/wire-request.ts";
import { startWriter } from "./load/writer.ts";
import type { Part, ReadSize } from "./read.ts";
import { recordPages } from "./servers/recorded-page.ts";
import { PROGRAMS, startServer, type RunningServer } from "./servers/start.ts";

export interface Comparison {
  measured: Measured[];
  /** Number of trades that the writer wrote during the measurement. */
  written: number;
  /** Bytes that the service holds after all cases, without its cache and with it. */
  memory: { service: number; cached: number };
}

export interface CompareOptions extends ReadSize {
  databaseUrl: string;
  fewUrl: string;
}

/** The request to each contender in one case. */
interface Contest {
  name: string;
  requests: Partial<Record<Contender, BenchRequest>>;
}

type Servers = Partial<Record<Contender, RunningServer>>;

/** Suffix of the names of cases that run beside a writer. */
export const WRITING = ", a writer at work";

/** Measures the parts of `options.parts`. */
export async function compare(options: CompareOptions): Promise<Comparison> {
  const { databaseUrl } = options;
  const has = (part: Part): boolean => options.parts.includes(part);
  await using stack = new AsyncDisposableStack();
  const client = await connect(databaseUrl, { role: "dex_reader" });
  const facts = await readFacts(client).finally(() => client.end());
  const pages = graphqlCases(facts);
  const plain = await startServer(PROGRAMS.plainPostgraphile, { DATABASE_URL: databaseUrl });
  stack.defer(() => plain.stop());
  // The hand-written server uses its SQL.
  const toPlain = pages.map(async (page) => ({
    name: page.operation,
    request: await requestTo(plain, byId(page)),
  }));
  const recorded = await recordPages(databaseUrl, await Promise.all(toPlain));
  const asking = { ...(await startAsking(databaseUrl, recorded, stack)), plain };
  const rest = restCases(options.trades).map(({ name, request }): Contest => {
    const requests = { service: request, cached: request, handWritten: request };
    return { name, requests: { ...requests, sameDuties: request } };
  });
  const graphql = await Promise.all(pages.map((page) => graphqlContest(page, asking)));
  const contests = [...(has("rest") ? rest : []), ...(has("graphql") ? graphql : [])];
  const knowing = await startKnowing(await knownAnswers(contests, asking.service), stack);
  const servers: Servers = { ...asking, ...knowing };
  await checkEqual(contests, servers);

  const measured: Measured[] = [];
  const measure = async (title: string, entries: Entry[]): Promise<void> => {
    if (entries.length === 0) return;
    log(title);
    measured.push(...(await alternate(entries, options)));
  };
  await measure("Side by side", entriesOf(contests, servers));

  let written = 0;
  if (has("writer")) {
    const totals = totalCases(facts).map(({ name, request }): Contest => {
      return { name, requests: { service: request } };
    });
    // The first count of a set reads it: 16 of them at once take all connections for longer than others wait.
    for (const { request } of totalCases(facts)) await askOnce(asking.service.url, request);
    await measure("Pages and their totals", entriesOf(totals, asking));
    const beside = [...graphql.slice(0, 2), ...totals].map(({ name, requests }) => ({
      name: name + WRITING,
      requests,
    }));
    const writer = await startWriter(databaseUrl);
    try {
      await measure("The same with a writer at work", entriesOf(beside, asking));
    } finally {
      written = await writer.stop();
    }
  }

  if (has("growth")) {
    const few = await startService(options.fewUrl, "off");
    stack.defer(() => few.stop());
    await measure("A long and a short history", growthEntries(options, asking.service, few));
  }
  const [service, cached] = [await asking.service.memory(), await asking.cached.memory()];
  return { measured, written, memory: { service, cached } };
}

/** The name of an endpoint's case in the comparison of history sizes. */
export const growthCase = (path: string): string => `${path} by size`;

export const sizeName = (trades: number): string => `${whole(trades)} trades`;

const growthEntries = (
  { trades, few: fewTrades }: ReadSize,
  many: RunningServer,
  few: RunningServer,
): Entry[] =>
  everyEndpoint().flatMap(({ name, request }) =>
    (
      [
        [trades, many],
        [fewTrades, few],
      ] as const
    ).map(([size, server]) => ({
      case: growthCase(name),
      contender: sizeName(size),
      match: "by size",
      ...measuredBy(server, request),
    })),
  );

/** How a request to a server is measured. */
export const measuredBy = (
  server: RunningServer,
  request: BenchRequest,
): Pick<Entry, "ask" | "processorTime"> => ({
  ask: (load: Load) => askFor(server.url, request, load),
  processorTime: () => server.processorTime(),
});

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
    const found = /"cursor":"([^"]+)"/.exec(body)?.[1];
    if (found !== undefined) return graphqlRequest(page, found);
    if (attempt === CURSOR_ATTEMPTS) throw new Error(`no cursor for ${page.name}: ${body}`);
  }
}

async function graphqlContest(
  page: GraphqlCase,
  asking: Record<"service" | "plain", RunningServer>,
): Promise<Contest> {
  const service = await requestTo(asking.service, page);
  const plain = await requestTo(asking.plain, byId(page));
  const handWritten = graphqlRequest(page);
  return { name: page.name, requests: { service, cached: service, plain, handWritten } };
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
      const { body } = await askOnce(service.url, request);
      return { method: request.method, path, body };
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
      const answer: unknown = JSON.parse(body);
      expected ??= answer;
      if (status === 200 && isDeepStrictEqual(answer, expected)) continue;
      throw new Error(
        `${name}: ${contender} answers ${status} and ${body.slice(0, 300)}, ` +
          `not ${JSON.stringify(expected).slice(0, 300)}`,
      );
    }
  }
}

const entriesOf = (contests: Contest[], servers: Servers): Entry[] =>
  contests.flatMap(({ name, requests }) =>
    (Object.keys(CONTENDERS) as Contender[]).flatMap((contender) => {
      const server = servers[contender];
      const request = requests[contender];
      if (server === undefined || request === undefined) return [];
      return {
        case: name,
        contender: CONTENDERS[contender],
        match: MATCHES[contender],
        ...measuredBy(server, request),
      };
    }),
  );

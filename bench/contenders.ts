// The compared servers, all on one database.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROGRAMS, startServer, type RunningServer } from "./servers/start.ts";
import type { RecordedPage } from "./servers/recorded-page.ts";

/** In measuring order: servers that are compared with each other are neighbours. */
export const CONTENDERS = {
  service: "this service, CACHE_BYTES=0",
  handWritten: "hand-written Express 5 + pg",
  sameDuties: "hand-written with the same duties",
  cached: "this service",
  sameBytes: "bare Express 5, same bytes",
  plain: "plain PostGraphile 5",
} as const;

export type Contender = keyof typeof CONTENDERS;

/** Contenders with the same value are compared with each other. */
export const MATCHES: Partial<Record<Contender, string>> = {
  service: "asking the database",
  handWritten: "asking the database",
  sameDuties: "asking the database",
  cached: "knowing the answer",
  sameBytes: "knowing the answer",
};

/** Starts the service on a database, with more settings and of another checkout where they are given. */
export const startService = (
  databaseUrl: string,
  cache: "on" | "off",
  settings: Record<string, string> = {},
  program = PROGRAMS.service,
): Promise<RunningServer> =>
  startServer(program, {
    DATABASE_URL: databaseUrl,
    DATABASE_OWNER_URL: databaseUrl,
    ...(cache === "off" && { CACHE_BYTES: "0" }),
    // One client sends all the load: keep the rate limiter active, but out of reach.
    RATE_LIMIT: "1000000000",
    MAX_CONCURRENT: "1000000",
    MAX_REQUESTS_PER_CLIENT: "1000000",
    ...settings,
  });

/** Starts the servers that query the database. The stack stops them. */
export async function startAsking(
  databaseUrl: string,
  pages: RecordedPage[],
  stack: AsyncDisposableStack,
): Promise<Record<"service" | "cached" | "handWritten" | "sameDuties", RunningServer>> {
  const file = await temporaryFile(pages, stack);
  const started = async (server: Promise<RunningServer>): Promise<RunningServer> => {
    const running = await server;
    stack.defer(() => running.stop());
    return running;
  };
  const env = { DATABASE_URL: databaseUrl };
  return {
    service: await started(startService(databaseUrl, "off")),
    cached: await started(startService(databaseUrl, "on")),
    handWritten: await started(startServer(PROGRAMS.handWritten, { ...env, PAGES: file })),
    sameDuties: await started(
      startServer(PROGRAMS.handWritten, { ...env, PAGES: file, DUTIES: "on" }),
    ),
  };
}

export interface KnownAnswer {
  method: "GET" | "POST";
  path: string;
  body: string;
}

/** Starts the servers that send fixed bytes. The stack stops them. */
export async function startKnowing(
  answers: KnownAnswer[],
  stack: AsyncDisposableStack,
): Promise<Record<"sameBytes", RunningServer>> {
  const file = await temporaryFile(answers, stack);
  const sameBytes = await startServer(PROGRAMS.sameBytes, { ANSWERS: file });
  stack.defer(() => sameBytes.stop());
  return { sameBytes };
}

async function temporaryFile(content: object, stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "dex-bench-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "content.json");
  await writeFile(file, JSON.stringify(content));
  return file;
}

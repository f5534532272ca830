// Compares what GraphQL answers as of past blocks with what it answers of the same database after later blocks are taken back.
import { createHash } from "node:crypto";
import type { Writable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { parse, validate, type DocumentNode, type ExecutionResult } from "graphql";
import { makeSchema } from "postgraphile";
import type { PgClient, WithPgClient } from "postgraphile/@dataplan/pg";
import { execute, getGrafastMiddleware } from "postgraphile/grafast";
import type { Client } from "../db/connect.ts";
import { presetOf } from "../graphql/schema/sdl.ts";
import { makeDatabase } from "./database.ts";
import { operationOf, SELECTIONS, withoutMarks, type Named } from "./graphql/as-of/past-answers.ts";
import type { Row } from "./brute-force.ts";
import type { AsOf, Exchange } from "./histories.ts";

type Block = Exchange["blocks"][number];

/** The schema is the same for every database. */
async function makeService() {
  const database = await makeDatabase();
  try {
    const { schema, resolvedPreset: served } = await makeSchema(presetOf(database.reader));
    // A machine may be slow.
    const resolvedPreset = { ...served, grafast: { ...served.grafast, timeouts: {} } };
    return { schema, resolvedPreset, middleware: getGrafastMiddleware(resolvedPreset) };
  } finally {
    await database.drop();
  }
}

let service: ReturnType<typeof makeService> | undefined;
const documents = new Map<string, DocumentNode>();

/** Within a transaction that goes on: a savepoint stands for the one that an operation begins. */
const IN_TRANSACTION: readonly (readonly [RegExp, string])[] = [
  [/^begin[^;]*/, "savepoint operation"],
  // Released too: a savepoint in each that is left open makes every look at a row slower.
  [/^(commit|rollback)$/, "rollback to savepoint operation; release savepoint operation"],
];

const nameOf = (text: string): string => createHash("md5").update(text).digest("hex");

/** Its `uses` end with the transaction of an operation, which is later than the answer. */
function clientIn(client: Client): { withPgClient: WithPgClient; uses: Promise<unknown>[] } {
  const uses: Promise<unknown>[] = [];
  const query = ({ text, values, arrayMode }: Parameters<PgClient["query"]>[0]) => {
    // All that an operation sends at once is one message of the network.
    const { stream } = (client as unknown as { connection: { stream: Writable } }).connection;
    stream.cork();
    setImmediate(() => stream.uncork());
    const sent = IN_TRANSACTION.reduce((made, [part, by]) => made.replace(part, by), text);
    return client.query({
      // Prepared, as PostGraphile has it: to plan them takes longer than to read.
      ...(sent === text && { name: nameOf(text) }),
      text: sent,
      values: values ?? [],
      ...(arrayMode === true && { rowMode: "array" }),
    });
  };
  // With `rawClient` an operation does not wait for one answer before it sends the next statement, as in the service.
  const given = { query, rawClient: client } as unknown as PgClient;
  const withPgClient: WithPgClient = (_settings, callback) => {
    const use = Promise.resolve(callback(given));
    uses.push(use);
    return use;
  };
  return { withPgClient, uses };
}

async function answerOf(client: Client, selection: string, named: Named, directive = "") {
  const { schema, resolvedPreset, middleware } = await (service ??= makeService());
  const { query, variables } = operationOf(selection, named, directive);
  const document = documents.get(query) ?? parse(query);
  if (!documents.has(query)) {
    const [error] = validate(schema, document);
    if (error !== undefined) throw error;
    documents.set(query, document);
  }
  const { withPgClient, uses } = clientIn(client);
  const answer = (await execute({
    ...{ schema, document, resolvedPreset, middleware, requestContext: {} },
    variableValues: variables,
    // The database's transaction is rolled back, which a kept count would not know.
    contextValue: { withPgClient, isBounded: true },
  })) as ExecutionResult;
  await Promise.all(uses);
  if (answer.errors !== undefined) throw answer.errors[0]!;
  return JSON.parse(JSON.stringify(answer.data)) as object;
}

/** What is asked for of a block, and the answers as of it. */
async function askedAt(client: Client, { recording }: AsOf, { number }: Block) {
  const [first] = recording.pairs;
  if (first === undefined) return undefined;
  const ids = await client.query<{ trade: string; offer: number }>({
    name: "compare_ids",
    text: "select coalesce(max(id), 1)::text as trade, coalesce((select max(id) from dex_offer), 1) as offer from dex_trade where block <= $1",
    values: [number],
  });
  const named: Named = { base: first["base"]!, quote: first["quote"]!, ...ids.rows[0]! };
  const found: object[] = [];
  for (const selection of ASKED) {
    const answer = await answerOf(client, selection, { ...named, block: number }, DIRECTIVE);
    found.push(withoutMarks(answer));
  }
  return { named, found };
}

/** As many in one operation as its limits accept; `total` is alone, because its page and it are then read without a transaction. */
const { trades, total, offers, markets, functions } = SELECTIONS;
const ASKED = [total!, `${trades} ${functions}`, `${offers} ${markets}`];

const DIRECTIVE = "@asOf(block: $block)";

/**
 * Throws where an answer as of a block is not that of the database when it ends with the block. All are asked for first; then one block
 * after another is taken back.
 */
export async function compareGraphql(client: Client, exchange: Exchange): Promise<void> {
  const asked = new Map<Block, Awaited<ReturnType<typeof askedAt>>>();
  for (const block of exchange.blocks) {
    asked.set(block, await askedAt(client, exchange.asOf(block), block));
  }
  const keyOf = (pair: Row): string => `${pair["base_gem"]} ${pair["quote_gem"]}`;
  const active = new Map(exchange.recording.pairs.map((pair) => [keyOf(pair), pair["active"]]));
  for (const [block, one] of [...asked].reverse()) {
    await client.query("select ingest.take_back($1)", [block.number]);
    for (const pair of exchange.asOf(block).recording.pairs) {
      if (active.get(keyOf(pair)) === pair["active"]) continue;
      active.set(keyOf(pair), pair["active"]);
      const { base_gem, quote_gem } = pair;
      const values = [base_gem, quote_gem, pair["active"]];
      await client.query("select ingest.register_pair($1, $2, $3)", values);
    }
    for (const [n, selection] of ASKED.entries()) {
      if (one === undefined) continue;
      const right = await answerOf(client, selection, one.named);
      if (isDeepStrictEqual(one.found[n], right)) continue;
      throw new Error(
        `as of block ${block.number}, GraphQL's answers are\n${JSON.stringify(one.found[n])}\nand should be\n${JSON.stringify(right)}`,
      );
    }
  }
}

// The snapshot of a round: a reading of the topics, and the database as the payloads of its events see it.
import type { PgClient, PgClientResult, WithPgClient } from "postgraphile/@dataplan/pg";
import type { Database } from "../../db/connect.ts";
import { readingOf } from "../../market/live/reading.ts";
import type { RoundSnapshot } from "../../market/live/rounds.ts";
import { makeSnapshot } from "../rows/read-transaction.ts";

export interface LiveSnapshot extends RoundSnapshot {
  /** Subscriptions with equal statements share their rows. */
  withPgClient: WithPgClient;
}

type Statement = Parameters<PgClient["query"]>[0];

/** As `pg` takes it. */
type Read = Statement & { rowMode?: "array" };

/** PostGraphile's client gives the rows as objects alone, in the order of the columns. */
async function asRead(
  { rowMode, ...statement }: Read,
  query: (statement: Statement) => Promise<PgClientResult<object>>,
) {
  const { rows } = await query(statement);
  if (rowMode !== "array") return { rows };
  const fields = Object.keys(rows[0] ?? {}).map((name) => ({ name }));
  return { rows: rows.map((row) => Object.values(row) as unknown[]), fields };
}

export async function openLiveSnapshot(withPgClient: WithPgClient): Promise<LiveSnapshot> {
  const snapshot = makeSnapshot(withPgClient);
  const query = (statement: Statement) =>
    snapshot.withPgClient(null, (client) => client.query<object>(statement));
  try {
    const db = { query: (statement: Read) => asRead(statement, query) } as unknown as Database;
    const reading = await readingOf(db, { isOneByOne: true });
    const sharing: PgClient = {
      query: <Row>(statement: Statement) => {
        const { text, values, arrayMode } = statement;
        const key = JSON.stringify([text, values, arrayMode]);
        return reading.once(key, () => query(statement)) as Promise<PgClientResult<Row>>;
      },
      withTransaction: () => Promise.reject(new Error("the payload of an event only reads")),
    };
    return {
      reading,
      withPgClient: async (_settings, callback) => callback(sharing),
      end: snapshot.end,
    };
  } catch (error) {
    snapshot.end();
    throw error;
  }
}

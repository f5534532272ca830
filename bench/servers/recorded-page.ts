// Records the SQL that the plain PostGraphile sends for pages of trades.
import { makePool, type Pool } from "../../db/connect.ts";
import { askOnce } from "../load/client.ts";
import type { Case } from "../cases.ts";
import { makePlainPostgraphile } from "./plain-postgraphile.ts";

export interface BoundStatement {
  text: string;
  values: (string | number | null)[];
}

export interface RecordedPage {
  /** The name of the operation. */
  name: string;
  nodes: BoundStatement;
  count?: BoundStatement;
  /** The fields of a node, with their column numbers in `nodes`. */
  fields: { name: string; column: number; isInteger: boolean }[];
}

const INTEGERS = ["offerId", "block", "idx"];

/** Records the statements of each request, in the order of the requests. */
export async function recordPages(url: string, requests: Case[]): Promise<RecordedPage[]> {
  const pool = makePool(url, { role: "dex_reader", poolSize: 2 });
  const sent = recordStatements(pool, /dex_trade/);
  const { server, release } = await makePlainPostgraphile(pool);
  try {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const pages: RecordedPage[] = [];
    for (const { name, request } of requests) {
      sent.length = 0;
      const { status, body } = await askOnce(`http://127.0.0.1:${port}`, request);
      if (status !== 200 || body.includes('"errors"')) throw new Error(`${name}: ${body}`);
      pages.push(asPage(name, sent));
    }
    return pages;
  } finally {
    await release();
    await new Promise((resolve) => server.close(resolve));
    await pool.end();
  }
}

/** A live list of the matching statements that the pool sends from now on, oldest first. */
export function recordStatements(pool: Pool, text: RegExp): BoundStatement[] {
  const sent: BoundStatement[] = [];
  pool.on("connect", (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    Object.assign(client, {
      query: (...args: unknown[]) => {
        const [statement] = args as [Partial<BoundStatement> | string];
        if (typeof statement === "object" && text.test(statement.text ?? "")) {
          sent.push({ text: statement.text ?? "", values: statement.values ?? [] });
        }
        return query(...args);
      },
    });
  });
  return sent;
}

function asPage(name: string, sent: BoundStatement[]): RecordedPage {
  const count = sent.find(({ text }) => text.includes("count("));
  const nodes = sent.find((statement) => statement !== count);
  if (nodes === undefined) throw new Error(`${name}: PostGraphile sent no statement for the page`);
  return { name, nodes, ...(count && { count }), fields: fieldsOf(nodes.text) };
}

/** Parses fields from select lines such as `__dex_trade__."lot_gem" as "3",`. */
export function fieldsOf(select: string): RecordedPage["fields"] {
  return [...select.matchAll(/^(?:to_char\()?__dex_trade__\."(\w+)".* as "(\d+)",?$/gm)].map(
    ([, column = "", position]) => {
      const name = column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      return { name, column: Number(position), isInteger: INTEGERS.includes(name) };
    },
  );
}

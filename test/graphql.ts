// The one helper that asks a running GraphQL endpoint, as a client would.
import type { TestApp } from "./app.ts";

/** A page of trades, with whatever was asked of it. */
export interface TradesPage {
  totalCount: number;
  nodes: Record<string, unknown>[];
  edges: { cursor: string; node: Record<string, unknown> }[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
}

/** What most queries of the tests ask for; others say what they expect. */
export interface Trades {
  allDexTrades: TradesPage;
}

export interface Answer<T> {
  status: number;
  data?: T | null;
  errors?: { message: string; path?: (string | number)[]; extensions?: Record<string, unknown> }[];
}

/** Posts a query and gives the whole answer. */
export async function ask<T = Trades>(
  app: TestApp,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<Answer<T>> {
  const response = await app.request
    .post("/graphql")
    .set("accept", "application/json")
    .send({ query, variables });
  return { status: response.status, ...(response.body as Omit<Answer<T>, "status">) };
}

/** Posts a query that must not fail, and gives its data. */
export async function dataOf<T = Trades>(
  app: TestApp,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<T> {
  const { data, errors } = await ask<T>(app, query, variables);
  if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join("\n"));
  if (data == null) throw new Error("there is neither data nor an error");
  return data;
}

/** Posts a query that must fail, and gives the messages of its errors. */
export async function errorsOf(
  app: TestApp,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<string[]> {
  const { errors } = await ask(app, query, variables);
  return (errors ?? []).map(({ message }) => message);
}

// Sends GraphQL queries to the service.
import type { TestApp } from "./app.ts";

/** A page of trades. */
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

/** The data of most queries in the tests. */
export interface Trades {
  allDexTrades: TradesPage;
}

export interface Answer<T> {
  status: number;
  data?: T | null;
  errors?: { message: string; path?: (string | number)[]; extensions?: Record<string, unknown> }[];
}

/** Posts a query and returns the response. */
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

/** Posts a query and returns its data; throws on errors. */
export async function dataOf<T = Trades>(
  app: TestApp,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<T> {
  const { data, errors } = await ask<T>(app, query, variables);
  if (errors !== undefined) throw new Error(errors.map(({ message }) => message).join("\n"));
  if (data == null) throw new Error("the response has neither data nor errors");
  return data;
}

/** Posts a query and returns its error messages. */
export async function errorsOf(
  app: TestApp,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<string[]> {
  const { errors } = await ask(app, query, variables);
  return (errors ?? []).map(({ message }) => message);
}

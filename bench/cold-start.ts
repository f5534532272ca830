// Measures the time from the start of the service on an existing database to its first answers.
import { askOnce } from "./load/client.ts";
import { median } from "./load/statistics.ts";
import { startService } from "./contenders.ts";

export interface ColdStart {
  /** Median milliseconds from the start of the process. */
  rest: number;
  graphql: number;
  starts: number;
}

const GRAPHQL = {
  method: "POST",
  path: "/graphql",
  body: JSON.stringify({ query: "{ allDexTrades(first: 1) { nodes { id } } }" }),
} as const;

export async function measureColdStart(databaseUrl: string, starts: number): Promise<ColdStart> {
  const rest: number[] = [];
  const graphql: number[] = [];
  for (let start = 0; start < starts; start += 1) {
    const began = performance.now();
    const service = await startService(databaseUrl, "on");
    try {
      await expectData(service.url, { method: "GET", path: "/v1/markets/" });
      rest.push(performance.now() - began);
      await expectData(service.url, GRAPHQL);
      graphql.push(performance.now() - began);
    } finally {
      await service.stop();
    }
  }
  return { rest: median(rest), graphql: median(graphql), starts };
}

async function expectData(url: string, request: Parameters<typeof askOnce>[1]): Promise<void> {
  const { status, body } = await askOnce(url, request);
  if (status !== 200) throw new Error(`the first answer is ${status}: ${body.toString()}`);
}

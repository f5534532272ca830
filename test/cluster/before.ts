// Clients that ask for no block: after a failover they get no head of before it.
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster, Server } from "./cluster.ts";
import type { ServiceNode } from "./service-node.ts";

/** The new primary is ahead by so many blocks: more than a ready standby may be behind by MAX_REPLICA_LAG. */
const AHEAD = 30;
/** A head that is higher by so many is none of before, whatever the writer takes back. */
const HIGHER = 5;

const PATH = "/v2/prices/weth/dai";

/**
 * Waits until the new primary is far ahead of where it was promoted, then has something happen. No client may get a head
 * of before, and the service of a primary that was replaced, if one is given, may answer nothing.
 */
export async function expectNoneOfBefore(
  { balancer }: Cluster,
  promoted: Server,
  happen: () => Promise<unknown>,
  replaced?: ServiceNode,
): Promise<void> {
  const before = await headOf(promoted);
  while ((await headOf(promoted)) < before + AHEAD) await sleep(50);
  const happened = happen();
  const [heads, ofReplaced] = await Promise.all([
    headsUntil(happened, balancer.url),
    replaced === undefined ? [] : headsUntil(happened, replaced.url),
  ]);
  await happened;
  expect(Math.min(...heads)).toBeGreaterThan(before + HIGHER);
  expect(ofReplaced).toEqual([]);
}

/** The heads of all answers of status 200 until then. */
async function headsUntil(over: Promise<unknown>, url: string): Promise<number[]> {
  const state = { isOver: false };
  const end = (): void => {
    state.isOver = true;
  };
  over.then(end, end);
  const heads: number[] = [];
  while (!state.isOver) {
    const answer = await fetch(`${url}${PATH}`).catch(() => undefined);
    if (answer?.ok === true) heads.push(Number(answer.headers.get("x-head-block")));
    await answer?.body?.cancel();
    await sleep(10);
  }
  return heads;
}

const headOf = ({ ask }: Server): Promise<number> =>
  ask(async (client) => {
    const { rows } = await client.query<{ block: number }>("select block from dex_head");
    return rows[0]?.block ?? 0;
  });

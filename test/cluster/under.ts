// Has an event happen to a cluster under load, and judges what came meanwhile.
import type { Cluster } from "./cluster.ts";
import { record } from "./outcomes.ts";
import { KEPT } from "../market/live/steady-followers.ts";

export interface Expected {
  /** Whether answers may be broken off: what a process that is killed has begun to send. */
  breaksOff?: boolean;
}

/** Clusters that an earlier event has left in pieces. */
const inPieces = new WeakSet<Cluster>();

/** Afterwards all is in use again. */
export async function under(
  cluster: Cluster,
  event: string,
  happen: () => Promise<unknown>,
  { breaksOff = false }: Expected = {},
): Promise<void> {
  if (inPieces.has(cluster)) throw new Error("an earlier event has left the cluster in pieces");
  inPieces.add(cluster);
  const { balancer, clients, followers, writer } = cluster;
  await balancer.untilAllUp();
  clients.judge();
  writer.countAnew();
  followers.countAnew();

  await happen();
  const ended = performance.now();
  await balancer.untilAllUp();
  const recoveredMs = performance.now() - ended;
  await writer.written(3);
  await clients.untilAnswered();
  inPieces.delete(cluster);

  const written = { ...writer.tally };
  await writer.whileHeld(KEPT, async (truth) => {
    const differences = await followers.differences(truth);
    const counts = clients.judge();
    const followed = { ...followers.tally };
    await record({
      outcome: { event, clients: counts, followers: followed, writer: written, recoveredMs },
    });
    expect({ ...counts, differences, errors: followers.errors }).toMatchObject({
      ...{ wrong: [], wentBack: [], other: [], differences: [], errors: [] },
      ...(breaksOff ? {} : { brokenOff: [] }),
    });
    expect(counts.answers).toBeGreaterThan(0);
  });
}

// Starts and asks the process of the followers.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Followed, Order, Told } from "./followers-process.ts";

const PROGRAM = fileURLToPath(new URL("followers-process.ts", import.meta.url));

export interface Followers {
  /** Resolves to the times at which each follower got the text, in milliseconds since 1970. */
  expect: (text: string) => Promise<number[]>;
  stop: () => Promise<void>;
}

/**
 * Resolves when each follower has begun. A subscription is not acknowledged: `write` writes blocks until every
 * follower has got one.
 */
export async function startFollowers(
  count: number,
  url: string,
  followed: Followed,
  write: () => Promise<void>,
): Promise<Followers> {
  const child = fork(PROGRAM, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const waiting: ((told: Told) => void)[] = [];
  child.on("message", (told: Told) => waiting.shift()?.(told));
  const ended = once(child, "exit").then(() => {
    throw new Error("a follower has lost its stream");
  });
  // Each may fail while nobody waits for it, which would end this process.
  const told = (): Promise<Told> => {
    const next = Promise.race([new Promise<Told>((resolve) => waiting.push(resolve)), ended]);
    next.catch(() => undefined);
    return next;
  };
  const [opened, begun] = [told(), told()];
  child.send({ open: count, url, followed } satisfies Order);
  await opened;
  // Longer each time, so that blocks do not queue up at a slow server.
  for (let wait = 100; (await Promise.race([begun, sleep(wait)])) === undefined; wait *= 8) {
    await write();
  }
  return {
    async expect(text) {
      child.send({ expect: text } satisfies Order);
      return told().then((got) => ("at" in got ? got.at : []));
    },
    async stop() {
      child.kill();
      await ended.catch(() => undefined);
    },
  };
}

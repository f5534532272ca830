// The turns that streams wait for while requests do: to begin, and for each page that their clients have missed.
import { setTimeout as sleep } from "node:timers/promises";
import { LoopShare } from "../../../http/streams/loop-share.ts";
import { openPool } from "../../database.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";
import { useDatabase } from "../../served.ts";
import { followStream } from "../../stream-client.ts";
import { startStreams, type StreamService } from "../../stream-service.ts";

/** Gives turns only when it is told to. */
class HeldShare extends LoopShare {
  readonly asked: (() => void)[] = [];

  constructor() {
    super(() => false);
  }

  override async run<Result>(work: () => Promise<Result>): Promise<Result> {
    await new Promise<void>((resolve) => this.asked.push(resolve));
    return super.run(work);
  }

  async giveOne(): Promise<void> {
    while (this.asked.length === 0) await sleep(1);
    this.asked.shift()?.();
  }

  giveAll(): void {
    for (const give of this.asked.splice(0)) give();
    this.asked.push = (...more) => {
      for (const give of more) give();
      return 0;
    };
  }
}

const database = useDatabase(registerMarkets);
let service: StreamService;
let share: HeldShare;
beforeEach(async () => {
  share = new HeldShare();
  service = await startStreams(database.reader, { all: 2, perClient: 2, pageTrades: 2 }, share);
});
afterEach(async () => {
  share.giveAll();
  await service.close();
});

const stream = (from = ""): string => `${service.url}/v2/stream?topics=trades:WETH/DAI${from}`;

it("are for reading the request, for beginning, and for each page", async () => {
  await write(database.writer, { trades: [aTrade({ hour: 1 })] });
  share.giveAll();
  const first = await followStream(stream());
  const { id } = (await first.next())!;
  first.close();
  for (const hour of [2, 3, 4]) {
    await write(database.writer, { trades: [aTrade({ hour }), aTrade({ hour, idx: 1 })] });
  }

  await service.close();
  share = new HeldShare();
  service = await startStreams(database.reader, { pageTrades: 2 }, share);
  const opening = followStream(stream(`&from=${id}`));
  // The request, the beginning, which finds that pages are missed, and the first of them.
  for (let turn = 0; turn < 3; turn += 1) await share.giveOne();
  const client = await opening;
  const pages = [await client.next()];
  await share.giveOne();
  pages.push(await client.next());
  // Nothing comes without a turn.
  const next = client.next();
  expect(await Promise.race([next, sleep(50, "nothing")])).toBe("nothing");
  share.giveAll();
  pages.push(await next);
  expect(pages.map((page) => page?.data.topics["trades:WETH/DAI"]?.length)).toEqual([2, 2, 2]);
  client.close();
});

it("are waited for by as many streams as may be open: others are refused at once", async () => {
  const waiting = [followStream(stream()), followStream(stream())];
  while (share.asked.length < 2) await sleep(1);
  const refused = await followStream(stream());
  expect(refused.status).toBe(503);
  share.giveAll();
  for (const each of await Promise.all(waiting)) {
    expect(each.status).toBe(200);
    each.close();
  }
});

it("are given back by a client that leaves before its turn", async () => {
  const leaving = new AbortController();
  const left = fetch(stream(), { signal: leaving.signal });
  while (share.asked.length < 1) await sleep(1);
  leaving.abort();
  await expect(left).rejects.toThrow("aborted");
  while ((await service.connections()) > 0) await sleep(1);
  const others = [followStream(stream()), followStream(stream())];
  while (share.asked.length < 3) await sleep(1);
  share.giveAll();
  for (const each of await Promise.all(others)) {
    expect(each.status).toBe(200);
    each.close();
  }
  expect(await service.count()).toBeLessThanOrEqual(2);
});

it("are waited for by all that are opened at once, which are not refused as too many for the pool", async () => {
  await using pool = openPool(database.url, {
    ...{ role: "dex_reader", poolSize: 2 },
    // Two of streams that begin, a reading of the feed, and two looks at the version are 5 at most.
    bounds: { queue: 3, askedBy: () => undefined, holdMs: 600_000 },
  });
  await service.close();
  share.giveAll();
  service = await startStreams(pool, {}, share);
  const clients = await Promise.all(Array.from({ length: 20 }, () => followStream(stream())));
  expect(clients.map(({ status }) => status)).toEqual(clients.map(() => 200));
  for (const client of clients) client.close();
  await service.close();
  service = await startStreams(database.reader, {}, share);
});

// When the data are lost to those who follow them, and what becomes of streams and subscriptions then.
import { once } from "node:events";
import { WebSocket } from "ws";
import type { Database } from "../../../db/connect.ts";
import { STREAM_LIMITS } from "../../../rest/stream/stream-endpoint.ts";
import { VersionPoll } from "../../../market/version-poll.ts";
import { makeTestApp, type TestApp } from "../../app.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";
import { useDatabase } from "../../served.ts";
import { followStream, type StreamClient } from "../../stream-client.ts";
import { connectTo, follow } from "../../subscription-client.ts";

/** A database of one version. */
const answering = (isDown = (): boolean => false): Database =>
  ({
    query: () =>
      isDown()
        ? Promise.reject(new Error("down"))
        : Promise.resolve({ rows: [{ text: "1", hasHead: true }] }),
  }) as never;

describe("the data", () => {
  const polls: VersionPoll[] = [];
  afterEach(async () => {
    for (const poll of polls.splice(0)) await poll.close();
  });

  /** Resolves to the poll when its data are lost. */
  async function lost(db: Database, probe: Database, onChange: () => Promise<void>) {
    const poll = new VersionPoll({ db, probe, everyMs: 1, lostMs: 1, log: () => undefined });
    polls.push(poll);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    poll.whenLost(() => resolve(undefined));
    const leave = poll.follow(onChange);
    await promise;
    return { poll, leave };
  }

  it("are lost when their version cannot be read, and found when it can, also where no client follows", async () => {
    let isDown = true;
    const db = answering(() => isDown);
    const { poll, leave } = await lost(db, db, () => Promise.resolve());
    leave();
    expect(poll.isLost).toBe(true);
    isDown = false;
    while (poll.isLost) await new Promise(setImmediate);
  });

  it("are lost where a follower's reading holds up the next look, and nothing else can be read", async () => {
    let release = (): void => undefined;
    const reading = new Promise<void>((resolve) => (release = resolve));
    const { poll } = await lost(
      answering(),
      answering(() => true),
      () => reading,
    );
    expect(poll.isLost).toBe(true);
    release();
  });
});

describe("a service that cannot read its database", () => {
  const database = useDatabase();
  let app: TestApp;
  let isAway = false;
  beforeAll(async () => {
    await registerMarkets(database.writer);
    const pool = database.pool({ role: "dex_reader" });
    const refused = Object.assign(new Error("refused"), {
      code: "ECONNREFUSED",
      syscall: "connect",
    });
    for (const name of ["query", "connect"] as const) {
      const act = pool[name].bind(pool) as (...given: unknown[]) => Promise<unknown>;
      const unlessAway = (...given: unknown[]) =>
        isAway ? Promise.reject(refused) : act(...given);
      Object.assign(pool, { [name]: unlessAway });
    }
    app = await makeTestApp(pool, { streams: { ...STREAM_LIMITS, lostMs: 100 } });
    database.beforeDrop(app.close);
  });

  const stream = (from = ""): Promise<StreamClient> =>
    followStream(`${app.url}/v2/stream?topics=trades:WETH/DAI${from}`);
  const TRADES =
    "subscription ($after: String) { dexTrades(after: $after) { cursor nodes { id } } }";

  it("ends streams and connections, refuses others, and has them resume when it can", async () => {
    const closed = Promise.withResolvers<unknown>();
    const client = connectTo(app.url, { on: { closed: closed.resolve } });
    const { cursor: after } = await follow(client, TRADES).next();
    const streamed = await stream();
    const { id } = (await streamed.next())!;
    isAway = true;

    expect(await streamed.next()).toMatchObject({
      event: "closed",
      data: { reason: "unreachable" },
    });
    expect(await streamed.next()).toBeUndefined();
    expect(await closed.promise).toMatchObject({ code: 1012, reason: "unreachable" });
    const second = await stream();
    second.close();
    expect(second.status).toBe(503);
    const refused = new WebSocket(
      `${app.url.replace("http", "ws")}/graphql`,
      "graphql-transport-ws",
    );
    const [error] = (await once(refused, "error")) as [Error];
    expect(error.message).toBe("Unexpected server response: 503");

    isAway = false;
    await write(database.writer, { trades: [aTrade()] });
    let resumed = await stream(`&from=${id}`);
    while (resumed.status !== 200) {
      resumed.close();
      resumed = await stream(`&from=${id}`);
    }
    expect(await resumed.next()).toMatchObject({
      data: { topics: { "trades:WETH/DAI": [{ id: 1 }] } },
    });
    resumed.close();
    const again = connectTo(app.url);
    expect(await follow(again, TRADES, { after }).next()).toMatchObject({ nodes: [{ id: "1" }] });
    await again.dispose();
    await client.dispose();
  });
});

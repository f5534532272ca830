// The turns of subscriptions: one after the other, so that no statement's rows are taken to payloads at once.
import { setImmediate } from "node:timers/promises";
import { ownErrors } from "../../app.ts";
import { LoopShare } from "../../../http/streams/loop-share.ts";
import { Rounds, type Follower, type Turn } from "../../../market/live/rounds.ts";
import { createWithPgClient } from "postgraphile/adaptors/pg";
import {
  openLiveSnapshot,
  type LiveSnapshot,
} from "../../../graphql/subscriptions/live-snapshot.ts";
import { VersionPoll } from "../../../market/version-poll.ts";
import { useDatabase } from "../../served.ts";

const database = useDatabase();
let poll: VersionPoll;
let rounds: Rounds<LiveSnapshot>;
const logged: unknown[] = [];
/** Ends what a test has left. */
const ends: (() => void)[] = [];

beforeAll(() => {
  const log = (error: unknown): void => void logged.push(error);
  const share = new LoopShare(() => true);
  poll = new VersionPoll({ db: database.reader, everyMs: 1, lostMs: 600_000, log });
  const withPgClient = createWithPgClient({ pool: database.reader });
  rounds = new Rounds({ open: () => openLiveSnapshot(withPgClient), poll, share, log });
  const leave = rounds.join();
  database.beforeDrop(async () => {
    leave();
    await rounds.close();
    await poll.close();
  });
});

afterEach(async () => {
  jest.restoreAllMocks();
  for (const end of ends.splice(0)) end();
  await rounds.close();
});

interface Given extends Pick<Turn<LiveSnapshot>, "snapshot" | "end"> {
  name: string;
}

/** Turns as they are given, until the subscriptions leave. */
function given(
  names: readonly string[],
  follower: (name: string) => Follower = () => ({}),
): { turns: Given[]; leave: () => void } {
  const turns: Given[] = [];
  const gone = new AbortController();
  ends.push(() => gone.abort());
  for (const name of names) {
    void rounds.turn(undefined, gone.signal, follower(name)).then((turn) => {
      if (turn === undefined) return;
      turns.push({ name, ...turn });
      if (gone.signal.aborted) turn.end();
      else ends.push(turn.end);
    });
  }
  return { turns, leave: () => gone.abort() };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await setImmediate();
}

/** Time for a round to begin, and to give all turns that it does not keep. */
async function statements(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await database.reader.query("select");
}

it("come one after the other in a round, and two rounds of quick followers run at once", async () => {
  const names = Array.from({ length: 8 }, (_, n) => String(n));
  const { turns } = given(names, () => ({ isQuick: true }));
  for (let n = 0; n < names.length; n += 1) {
    await until(() => turns.length > n);
    await statements();
    expect(turns.length).toBeLessThanOrEqual(n + 2);
    turns[n]?.end();
  }
  expect(turns.map(({ name }) => name).toSorted()).toEqual(names);
  expect(ownErrors(logged)).toEqual([]);
});

it("of followers that begin or are slow are in one round at most, and quick ones wait for none", async () => {
  const slow = given(["slow", "slower"]);
  await until(() => slow.turns.length === 1);
  const quick = given(["1", "2", "3"], () => ({ isQuick: true }));
  for (let n = 0; n < 3; n += 1) {
    await until(() => quick.turns.length > n);
    quick.turns[n]?.end();
  }
  await statements();
  expect(slow.turns).toHaveLength(1);
  slow.turns[0]?.end();
  await until(() => slow.turns.length === 2);
});

it("of followers that begin are given to one client after the other", async () => {
  const first = given(["first"]);
  await until(() => first.turns.length === 1);
  const many = given(["a1", "a2", "a3"], () => ({ client: "a" }));
  const one = given(["b1"], () => ({ client: "b" }));
  first.turns[0]?.end();
  await until(() => many.turns.length === 1);
  many.turns[0]?.end();
  await until(() => one.turns.length === 1);
  expect(many.turns.map(({ name }) => name)).toEqual(["a1"]);
});

it("make a follower quick or not by their own time", async () => {
  const now = performance.now.bind(performance);
  let ahead = 0;
  jest.spyOn(performance, "now").mockImplementation(() => now() + ahead);
  const follower: Follower = {};
  const takeTurn = async (ms: number): Promise<void> => {
    const { turns } = given(["1"], () => follower);
    await until(() => turns.length === 1);
    ahead += ms;
    follower.isQuick = undefined;
    turns[0]?.end(true);
    await until(() => follower.isQuick !== undefined);
  };
  await takeTurn(100);
  expect(follower.isQuick).toBe(false);
  // Without an event a turn says nothing of the next one.
  const { turns } = given(["1"], () => follower);
  await until(() => turns.length === 1);
  turns[0]?.end();
  await rounds.close();
  expect(follower.isQuick).toBe(false);
  // On a machine that is halted a turn takes longer.
  while (follower.isQuick !== true) await takeTurn(0);
});

it("of what has as much in a row as a slow one wait, and delay no others", async () => {
  const held = given(["1", "2"], () => ({ isQuick: true }));
  await until(() => held.turns.length === 2);
  const { turns } = given(["heavy", "as heavy", "lighter", "light"], (name) => ({
    isQuick: true,
    weight: { heavy: 100, "as heavy": 50, lighter: 49, light: 1 }[name],
  }));
  held.turns[0]?.end();
  await until(() => turns.length === 1);
  const now = performance.now() + 101;
  jest.spyOn(performance, "now").mockImplementation(() => now);
  turns[0]?.end(true);
  await until(() => turns.length === 2);
  turns[1]?.end();
  await until(() => turns.length === 3);
  turns[2]?.end();
  await until(() => turns.length === 4);
  expect(turns.map(({ name }) => name)).toEqual(["heavy", "lighter", "light", "as heavy"]);
});

it("are not given to subscriptions that have left by then", async () => {
  const first = given(["1", "2"], () => ({ isQuick: true }));
  const others = given(["3", "4", "5"]);
  await until(() => first.turns.length === 2);
  others.leave();
  for (const { end } of first.turns) end();
  await rounds.close();
  expect(others.turns).toEqual([]);
});

it("are of a later snapshot when the round has taken a second", async () => {
  const { turns } = given(["1", "2", "3", "4"], () => ({ isQuick: true }));
  await until(() => turns.length === 2);
  turns[0]?.end();
  await until(() => turns.length === 3);
  const now = performance.now();
  jest.spyOn(performance, "now").mockImplementation(() => now + 1001);
  turns[2]?.end();
  await until(() => turns.length === 4);
  expect(turns[3]?.snapshot).not.toBe(turns[2]?.snapshot);
});

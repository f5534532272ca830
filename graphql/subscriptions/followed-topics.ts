// What a field of Subscription follows: its arguments as topics.
import { SafeError } from "postgraphile/grafast";
import { spellingsOf } from "../../db/load/checksum.ts";
import type { Pool } from "../../db/connect.ts";
import { NoSuchBlock } from "../../market/absent.ts";
import { isInterval } from "../../market/candle-intervals.ts";
import { lacksTooMany, placeAt } from "../../market/place-at.ts";
import { readPlaceText, type Place } from "../../market/place.ts";
import { findNamedPairs, findPairs } from "../../market/queries/pairs.ts";
import type { PairName } from "../../market/queries/snapshot.ts";
import { concrete } from "../../market/live/asked-topics.ts";
import { topicOf, type Reading, type Topic, type TopicKind } from "../../market/live/topic.ts";

/** The arguments of a field: each has those that its topic declares. */
export type TopicArguments = Record<string, unknown>;

export interface FollowedTopics {
  kind: TopicKind;
  /** The place of a client that comes back. */
  after: Place | undefined;
  /** Finds the place of a client that begins behind a block; `page` is how many candles it may lack. */
  findPlace: ((pool: Pool, page: number) => Promise<Place>) | undefined;
  /** The topics; subscriptions with equal arguments get one list. Throws where a market is not registered. */
  read: (reading: Reading) => Promise<readonly Topic[]>;
}

class BadArgument extends SafeError {
  constructor(name: string, accepted: string, given: string) {
    const shown = given.length > SHOWN ? `${given.slice(0, SHOWN)}…` : given;
    super(`"${name}" must be ${accepted}, not ${JSON.stringify(shown)}`, {
      code: "BAD_USER_INPUT",
    });
  }
}

const SHOWN = 40;

/** Undefined where it is not given, or null. */
const textOf = (given: TopicArguments, name: string): string | undefined => {
  const value = given[name];
  return typeof value === "string" ? value : undefined;
};

function readAfter(after: string | undefined): Place | undefined {
  if (after === undefined) return undefined;
  const place = readPlaceText(after);
  if (place === undefined) throw new BadArgument("after", "the cursor of an event", after);
  return place;
}

/** A client that begins would drop nothing at a reset, so it is refused what would lead to one. */
function readFromBlock(
  { fromBlock: block, after }: TopicArguments,
  interval: unknown,
): FollowedTopics["findPlace"] {
  if (typeof block !== "number") return undefined;
  if (after != null) {
    throw new SafeError('"after" and "fromBlock" must be given one at a time', {
      code: "BAD_USER_INPUT",
    });
  }
  const refused = (accepted: string) => new BadArgument("fromBlock", accepted, String(block));
  if (block < 0) throw refused("an integer from 0 to 2147483647");
  return async (pool, page) => {
    const found = await placeAt(pool, block).catch((error: unknown) => {
      if (!(error instanceof NoSuchBlock)) throw error;
      throw new SafeError(error.message, { code: "NO_SUCH_BLOCK" });
    });
    if (isInterval(interval) && lacksTooMany(found, interval, page)) {
      throw refused(`a block less than ${page} intervals of ${interval} behind the head`);
    }
    return found.place;
  };
}

const ADDRESS = /^0x[0-9a-f]{40}$/i;

function readAddress(name: string, address: string | undefined): string[] | undefined {
  if (address === undefined) return undefined;
  if (!ADDRESS.test(address)) {
    throw new BadArgument(name, "an address, 0x and 40 hexadecimal digits", address);
  }
  return spellingsOf(address);
}

/** PostgreSQL refuses a number that is out of range. */
function readArgument({ argument, field }: TopicKind, given: TopicArguments) {
  const { argument: name } = field;
  if (name === undefined || argument === undefined) return undefined;
  const value = given[name] as string | number;
  if (typeof value === "string" && argument.read(value) === undefined) {
    throw new BadArgument(name, argument.accepted, value);
  }
  return value;
}

/** Throws for an argument that is wrong in itself. */
export function followedTopics(kind: TopicKind, given: TopicArguments): FollowedTopics {
  const after = readAfter(textOf(given, "after"));
  const argument = readArgument(kind, given);
  const findPlace = readFromBlock(given, argument);
  const taker = readAddress("taker", textOf(given, "taker"));
  const maker = readAddress("maker", textOf(given, "maker"));
  const names = namesOf(kind, given);
  const { after: _after, fromBlock: _block, ...others } = given;
  const key = `topics ${kind.name} ${JSON.stringify(others)}`;
  const topicsOf = async (reading: Reading): Promise<Topic[]> => {
    if (kind.field.market === "pairs" && names === undefined) {
      return concrete([{ kind, name: key, pair: "*" }], (await findPairs(reading.db)).rows);
    }
    if (taker === undefined && maker === undefined && names === undefined) {
      return [{ ...topicOf(kind), name: key }];
    }
    const pairs = names && (await findRegistered(reading, kind, names));
    if (kind.field.market === "market")
      return [{ kind, name: key, pair: pairs?.[0], taker, maker }];
    return concrete(
      (pairs ?? []).map((pair) => topicOf(kind, pair, argument)),
      [],
    );
  };
  return { kind, after, findPlace, read: (reading) => reading.once(key, () => topicsOf(reading)) };
}

/** The names of markets; undefined for all, or none. */
function namesOf({ field }: TopicKind, given: TopicArguments): readonly string[] | undefined {
  if (field.market === "base/quote") {
    return [`${textOf(given, "base") ?? ""}/${textOf(given, "quote") ?? ""}`];
  }
  if (field.market === "pairs") return (given["pairs"] ?? undefined) as string[] | undefined;
  const market = textOf(given, "market");
  return market === undefined ? undefined : [market];
}

/** The registered pairs of these names; a name that is not registered is an error. */
async function findRegistered(
  { db }: Reading,
  { field }: TopicKind,
  names: readonly string[],
): Promise<PairName[]> {
  const found = await findNamedPairs(db, names);
  return found.map(({ name, base, quote }) => {
    if (base !== null && quote !== null) return { base, quote };
    throw new BadArgument(field.market ?? "", "BASE/QUOTE of a registered pair", name);
  });
}

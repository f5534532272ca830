// A place in the data: how far a client has followed them, and the head that it has seen.
import type { Database } from "../db/connect.ts";

/**
 * A place is of one history: `origin` names the database and `epoch` the labels of its rows, so a client with
 * other ones must start anew. `trade` bounds what the client has: ids grow with blocks, and the id of a trade
 * that was taken back is never used again.
 */
export interface Place {
  origin: string;
  epoch: string;
  /** The number of the newest reorganisation. */
  reorganisation: number;
  /** The head; -1 before the first block. */
  block: number;
  /** No trade up to this place has a greater id. */
  trade: number;
}

/** The place of a snapshot. */
export interface CurrentPlace extends Place {
  /** The head's time, in ISO 8601 UTC with milliseconds; null before the first block. */
  time: string | null;
}

/** No number has leading zeros, so that a place has one text. */
const WRITTEN =
  /^([0-9a-f]{8})\.(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,14})\.(-1|0|[1-9]\d{0,9})\.(0|[1-9]\d{0,15})$/;

export const placeText = ({ origin, epoch, reorganisation, block, trade }: Place): string =>
  [origin, epoch, reorganisation, block, trade].join(".");

/** Of a bigint, and of an integer. */
const MAX_EPOCH = 2n ** 63n - 1n;
const MAX_BLOCK = 2 ** 31 - 1;

/** Undefined for a text that no service has written. */
export function readPlaceText(text: string): Place | undefined {
  const [, origin, epoch, ...numbers] = WRITTEN.exec(text) ?? [];
  if (origin === undefined || epoch === undefined) return undefined;
  const [reorganisation = 0, block = 0, trade = 0] = numbers.map(Number);
  if (BigInt(epoch) > MAX_EPOCH || block > MAX_BLOCK) return undefined;
  if (trade > Number.MAX_SAFE_INTEGER) return undefined;
  return { origin, epoch, reorganisation, block, trade };
}

// A standby has its primary's system identifier, and a restored dump another: the ids in a copy that is
// written on its own say nothing of this database.
const SELECT_PLACE = {
  name: "live_place",
  text: `
    select
      left(md5(control.system_identifier || ' ' || database.oid), 8) as origin,
      state.epoch::text as epoch,
      coalesce(
        (
          select max(past.number)
          from dex_private.reorganisation as past
        ),
        0
      )::float8 as reorganisation,
      coalesce(head.block, -1) as block,
      state.last_trade::float8 as trade,
      to_char(head.time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time
    from dex_private.write_state as state
    cross join pg_control_system() as control
    join pg_database as database on database.datname = current_database()
    left join dex_head as head on true
  `,
};

export async function readPlace(db: Database): Promise<CurrentPlace> {
  const { rows } = await db.query<CurrentPlace>(SELECT_PLACE);
  const [place] = rows;
  if (place === undefined) throw new Error("dex_private.write_state has no row");
  return place;
}

const SELECT_TIME = {
  name: "live_time",
  text: `
    select to_char(block.time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time
    from dex_block as block
    where block.number <= $1
    order by block.number desc
    limit 1
  `,
};

/** The time of a block, or of the last recorded block before it; undefined before the first. */
export async function readTimeOf(db: Database, block: number): Promise<string | undefined> {
  const { rows } = await db.query<{ time: string }>({ ...SELECT_TIME, values: [block] });
  return rows[0]?.time;
}

export interface Retraction {
  /** The last recorded block that stands, and its time; null if none is left. */
  block: number | null;
  time: string | null;
  /** Trades with a greater id were taken back: blocks may have equal times. */
  trade: number;
}

const SELECT_TAKEN_BACK = {
  name: "live_taken_back",
  text: `
    select
      min(past.to_block) as block,
      count(*)::float8 as known
    from dex_private.reorganisation as past
    where past.number > $1
  `,
};

const SELECT_RETRACTION = {
  name: "live_retraction",
  text: `
    select
      block.number as block,
      to_char(block.time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as time,
      coalesce(
        (
          select max(trade.id)
          from dex_trade as trade
          where trade.id < dex_private.first_trade_of($1 + 1)
        ),
        0
      )::float8 as trade
    from (values ($1::integer)) as given (block)
    left join lateral (
      select *
      from dex_block
      where dex_block.number <= given.block
      order by dex_block.number desc
      limit 1
    ) as block on true
  `,
};

/** What the reorganisations after a place have left of it; "unknown" if some are no longer recorded. */
export async function readRetraction(
  db: Database,
  since: Place,
  now: Place,
): Promise<Retraction | "none" | "unknown"> {
  if (since.reorganisation === now.reorganisation) return "none";
  const { rows } = await db.query<{ block: number; known: number }>({
    ...SELECT_TAKEN_BACK,
    values: [since.reorganisation],
  });
  const [found] = rows;
  if (found?.known !== now.reorganisation - since.reorganisation) return "unknown";
  if (found.block >= since.block) return "none";
  const retraction = await db.query<Retraction>({ ...SELECT_RETRACTION, values: [found.block] });
  return retraction.rows[0] ?? "unknown";
}

/** Whether a client at `since` can be sent what has changed up to `now`, apart from reorganisations. */
export const isBefore = (since: Place, now: Place): boolean =>
  since.origin === now.origin &&
  since.epoch === now.epoch &&
  since.reorganisation <= now.reorganisation &&
  (since.reorganisation < now.reorganisation || since.block <= now.block) &&
  since.trade <= now.trade;

/** Whether `since` is of a write that `now` does not have: a standby replays it later than its primary. */
export function isAhead(since: Place, now: Place): boolean {
  if (since.origin !== now.origin) return false;
  if (since.epoch !== now.epoch) return BigInt(since.epoch) > BigInt(now.epoch);
  return !isBefore(since, now);
}

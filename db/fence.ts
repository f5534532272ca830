// Refuses a primary that another one may have replaced: it came back by itself, or its standbys are cut off. Refuses a
// server that lacks what was read from another.
import { setTimeout as sleep } from "node:timers/promises";
import type { Connected, Database, Pool } from "./connection-types.ts";

/** The message says why, for the operator. */
export class ReplacedPrimary extends Error {
  override readonly name = "ReplacedPrimary";
}

interface Server {
  /** Of all copies of its files. */
  system: string;
  /** Differs for each server and each of its starts. */
  started: string;
  isStandby: boolean;
  timeline: number;
  /** How far its log is kept, in bytes: a start after a power failure goes on from there. */
  position: string;
  /** PostgreSQL's synchronous_standby_names. */
  required: string;
  /** Names of the standbys that stream from it. */
  streaming: string[];
}

/** The last block with rows that the chain does not take back. */
interface Final {
  block: number;
  hash: string | null;
}

type Log = Record<"info" | "warn", (line: string) => void>;

/** A server that takes longer has frozen, and is no server to wait for. */
export const ANSWER_MS = 1000;

/** How often the server is looked at while connections to it last. */
const EVERY_MS = 500;

/** What the service has read last, and from where. */
type Seen = Pick<Server, "system" | "started" | "timeline" | "position"> & {
  final?: Final | undefined;
};

/** SQLSTATEs of a server that lacks one of the functions, or does not let the login call it. */
const NOT_ALLOWED = /^(42|0A)/;

/** Every new connection is judged before it is used, and the server again while connections last. */
export class Fence {
  readonly #log: Log;
  readonly #finality: number | undefined;
  #refusal: ReplacedPrimary | undefined;
  #seen: Seen | undefined;
  /** Of which there were two primaries. */
  #forkedTimeline: number | undefined;
  #isBlind = false;

  /** `finality` is how many blocks the chain may take back, as for dex_private.final_block. */
  constructor(log: Log, finality?: number) {
    this.#log = log;
    this.#finality = finality;
  }

  /** Undefined where the server may be served. */
  get refusal(): ReplacedPrimary | undefined {
    return this.#refusal;
  }

  /** Throws where the server must not be served. */
  async check(db: Database): Promise<void> {
    // From before: while this check reads, another one may read a later position of the same server.
    const seen = this.#seen;
    const server = await this.#read(db);
    if (server === undefined) return;
    const another = this.#fork(server, seen) ?? (await replaced(db, server, seen));
    if (another === undefined) this.#seen = latest(this.#seen, server);
    const reason = another ?? cutOff(server);
    if (reason !== this.#refusal?.message) {
      if (reason === undefined) this.#log.info("The primary is served again.");
      else this.#log.warn(`${reason}: it is not served.`);
    }
    this.#refusal = reason === undefined ? undefined : new ReplacedPrimary(reason);
    if (this.#refusal !== undefined) throw this.#refusal;
    const final = await this.#final(db);
    if (this.#seen !== undefined) this.#seen.final = final;
  }

  /** Makes the pool refuse: no statement runs on a server that must not be served. */
  guard(pool: Pool): void {
    const connect = pool.connect.bind(pool) as (connected?: Connected) => unknown;
    const refuseOrConnect = (connected?: Connected): unknown => {
      const refusal = this.#refusal;
      if (refusal === undefined) return connect(connected);
      if (connected === undefined) return Promise.reject(refusal);
      connected(refusal, undefined, () => undefined);
      return undefined;
    };
    // One function implements both overloads, promise and callback.
    pool.connect = refuseOrConnect as Pool["connect"];
    pool.options.verify = (client, done) => {
      this.check(client).then(() => done(), done);
    };
  }

  /** Checks again and again by a connection that is not guarded, until the signal. */
  async checkAgainAndAgain(db: Database, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // A server that cannot be reached is not served anyway.
      await this.check(db).catch(() => undefined);
      await sleep(EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Once a primary lacked what was read of its timeline, its log may grow beyond that: only the one that was read is served. */
  #fork(server: Server, seen: Seen | undefined): string | undefined {
    const { isStandby, system, timeline, position, started } = server;
    if (isStandby || system !== seen?.system || timeline !== seen.timeline) return undefined;
    if (BigInt(position) < BigInt(seen.position)) {
      this.#forkedTimeline = timeline;
      return `The primary's log ends at byte ${position}, and the service has read timeline ${timeline} up to byte ${seen.position}: ${ANOTHER}`;
    }
    if (timeline !== this.#forkedTimeline || started === seen.started) return undefined;
    return `There were two primaries on timeline ${timeline}, and this is not the start of the one that the service has read: ${ANOTHER}`;
  }

  async #read(db: Database): Promise<Server | undefined> {
    try {
      const { rows } = await db.query<Server>(SELECT_SERVER);
      return rows[0];
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      if (!NOT_ALLOWED.test(code ?? "")) throw error;
      if (!this.#isBlind) {
        this.#log.warn(
          `A primary that was replaced would be served, since it is not known: ${message}`,
        );
      }
      this.#isBlind = true;
      return undefined;
    }
  }

  /** Undefined where the schema is not there yet, or has no such block: then no server is refused for it. */
  async #final(db: Database): Promise<Final | undefined> {
    const found = db
      .query<Final>({ ...SELECT_FINAL, values: [this.#finality ?? null] })
      .then(({ rows }) => rows[0]);
    return found.catch(() => this.#seen?.final);
  }
}

const ANOTHER =
  "another primary has replaced it, or an old backup was restored, which a restart of the service accepts";

/** Why the server is no successor of what was read before. */
async function replaced(
  db: Database,
  server: Server,
  seen: Seen | undefined,
): Promise<string | undefined> {
  if (seen === undefined) return undefined;
  if (!server.isStandby && server.system === seen.system) {
    const { timeline } = server;
    if (timeline < seen.timeline) {
      return `The primary is on timeline ${timeline}, and the service has read timeline ${seen.timeline}: ${ANOTHER}`;
    }
    // A promotion is followed, even where it has lost what no standby had.
    if (timeline > seen.timeline) return undefined;
  }
  const { final } = seen;
  if (final === undefined || server.started === seen.started) return undefined;
  // A standby that is behind is served, and says how old its head is.
  if (server.isStandby && server.system === seen.system) return undefined;
  if (await hasBlock(db, final)) return undefined;
  const name = final.hash === null ? `${final.block}` : `${final.block} (${final.hash})`;
  return (
    `The database lacks block ${name}, which the service has read from another server: ` +
    "it is of another history, or not filled yet; a restart of the service accepts it"
  );
}

async function hasBlock(db: Database, { block, hash }: Final): Promise<boolean> {
  try {
    return (await db.query(HAS_BLOCK, [block, hash])).rows.length > 0;
  } catch (error) {
    // A database without the schema has no blocks.
    if (NOT_ALLOWED.test((error as { code?: string }).code ?? "")) return false;
    throw error;
  }
}

/** Why a primary may have been replaced although nothing newer was read. */
function cutOff({ isStandby, required, streaming }: Server): string | undefined {
  if (isStandby) return undefined;
  const names = standbyNames(required);
  if (names === undefined || streaming.some((name) => isAmong(name, names))) return undefined;
  return (
    `The primary requires a standby (synchronous_standby_names is ${required}), and none streams from it: ` +
    "another primary may have replaced it"
  );
}

/** A standby that is behind does not take back what was read. */
function latest(seen: Seen | undefined, server: Server): Seen {
  const { system, started, timeline, position } = server;
  const read = { system, started, timeline, position };
  if (seen?.system !== system || timeline > seen.timeline) return read;
  const isBehind = timeline < seen.timeline || BigInt(position) < BigInt(seen.position);
  return isBehind ? { ...seen, started } : read;
}

/** The names in synchronous_standby_names; undefined where it is empty. */
export function standbyNames(setting: string): string[] | undefined {
  if (setting.trim() === "") return undefined;
  const [, inner = setting] = /^\s*(?:(?:first|any)\s+)?\d+\s*\(([^]*)\)\s*$/i.exec(setting) ?? [];
  return [...inner.matchAll(/"((?:[^"]|"")*)"|([^\s,]+)/g)].map(
    ([, quoted = "", plain]) => plain ?? quoted.replaceAll('""', '"'),
  );
}

/** As PostgreSQL compares them. */
const isAmong = (name: string, names: readonly string[]): boolean =>
  names.some((one) => one === "*" || one.toLowerCase() === name.toLowerCase());

// What any login may read. A primary's position has its timeline at once, its last checkpoint only later. A standby
// follows a new timeline before its next restart point.
const SELECT_SERVER = {
  text: `
    select
      (
        select system_identifier::text
        from pg_control_system()
      ) as system,
      concat_ws(
        ' ',
        pg_postmaster_start_time(),
        inet_server_addr(),
        inet_server_port()
      ) as started,
      pg_is_in_recovery() as "isStandby",
      case
        when pg_is_in_recovery() then (
          select greatest(checkpoint.timeline_id, recovery.min_recovery_end_timeline)
          from
            pg_control_checkpoint() as checkpoint,
            pg_control_recovery() as recovery
        )
        else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
      end as timeline,
      (
        case
          when pg_is_in_recovery() then coalesce(pg_last_wal_replay_lsn(), '0/0')
          else pg_current_wal_flush_lsn()
        end - '0/0'
      )::text as position,
      current_setting('synchronous_standby_names') as required,
      array(
        select application_name
        from pg_stat_replication
      ) as streaming
  `,
  query_timeout: ANSWER_MS,
};

// A block with rows is not thinned out, and at most 1,000 without rows are above it.
const SELECT_FINAL = {
  text: `
    select
      block.number as block,
      block.hash
    from dex_private.final_block($1) as final
    cross join lateral (
      select *
      from public.dex_block as recorded
      where recorded.number <= final.number
        and recorded.has_rows
      order by recorded.number desc
      limit 1
    ) as block
  `,
  query_timeout: ANSWER_MS,
};

const HAS_BLOCK = `
  select
  from public.dex_block
  where number = $1
    and hash is not distinct from $2
`;

// The keys of an operator's file, read again when it changes: whose a request is, and what its holder may.
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { readFileSync, statSync, unwatchFile, watchFile } from "node:fs";
import { UnknownKey } from "../errors.ts";
import { stateOf, type Step } from "../request.ts";
import type { Refuse } from "../refusal.ts";
import { digestOf, MAX_KEY_BYTES, parseKeys, type ApiKey } from "./key-file.ts";

/** How often the file is looked at: this also sees one that is replaced, as a mounted secret is. */
const LOOK_MS = 1000;

/** No key contains a space, so no address and no other name is equal. */
const PREFIX = "key ";

// Node has taken the spaces behind it. A lazy match would look through a run of spaces again from each of them.
const BEARER = /^Bearer(?:$|[ \t]+)(.*)$/i;

export class ApiKeys {
  #byName = new Map<string, ApiKey>();
  /** By the first bytes of the digest: what is found by them is compared in constant time. */
  #byStart = new Map<number, ApiKey[]>();

  constructor(keys: readonly ApiKey[]) {
    this.replace(keys);
  }

  /** Streams that are open stay so. */
  replace(keys: readonly ApiKey[]): void {
    this.#byName = new Map(keys.map((key) => [key.name, key]));
    this.#byStart = Map.groupBy(keys, ({ digest }) => digest.readUInt32BE());
  }

  get size(): number {
    return this.#byName.size;
  }

  /** Digests are compared: how long that takes says nothing about a key. */
  find(key: string): ApiKey | undefined {
    const digest = digestOf(key);
    const alike = this.#byStart.get(digest.readUInt32BE()) ?? [];
    return alike.find((one) => timingSafeEqual(one.digest, digest));
  }

  /** How many streams a client may have, if it is the holder of a key that says so. */
  readonly streamsOf = (client: string): number | undefined =>
    client.startsWith(PREFIX) ? this.#byName.get(client.slice(PREFIX.length))?.streams : undefined;

  /** Counts the request as its key's, whatever address it comes from. */
  readonly identify = (req: IncomingMessage): void => {
    const state = stateOf(req);
    const [, given] = BEARER.exec(req.headers.authorization ?? "") ?? [];
    // Another scheme is for a proxy in front.
    if (given === undefined || state.isOfSupervisor) return;
    const key = this.find(given);
    state.key = key;
    state.hasUnknownKey = key === undefined;
    if (key !== undefined) state.client = `${PREFIX}${key.name}`;
  };

  /** Stands in front of the limits. */
  readonly step: Step = (next) => (req, res) => {
    this.identify(req);
    next(req, res);
  };
}

/** Stands behind the rate limit, which so bounds how many keys a client can try. */
export const refuseUnknownKeys =
  (refuse: Refuse): Step =>
  (next) =>
  (req, res) => {
    if (stateOf(req).hasUnknownKey) refuse(req, res, new UnknownKey());
    else next(req, res);
  };

export interface KeyFileOptions {
  file: string;
  log: Record<"info" | "warn", (line: string) => void>;
  everyMs?: number;
}

export interface OpenKeys {
  keys: ApiKeys;
  /** Follows the file no longer. */
  close: () => void;
}

/** Throws where the file is wrong at first. Later a wrong one leaves the keys as they are, and the log says why. */
export function openKeys({ file, log, everyMs = LOOK_MS }: KeyFileOptions): OpenKeys {
  const read = (): ApiKey[] => {
    try {
      const found = statSync(file);
      // To read a pipe would hold the process, and it has the keys once only.
      if (!found.isFile()) throw new Error("this is no file");
      // So would a large one, such as a log in its place.
      if (found.size > MAX_KEY_BYTES) {
        throw new Error(`it has ${found.size} bytes, and at most ${MAX_KEY_BYTES} are accepted`);
      }
      return parseKeys(readFileSync(file, "utf8"));
    } catch (error) {
      throw new Error(`API_KEYS_FILE: ${file}: ${(error as Error).message}`, { cause: error });
    }
  };
  const keys = new ApiKeys(read());
  const reload = (): void => {
    try {
      keys.replace(read());
      log.info(`API_KEYS_FILE: ${file} has changed; keys that it has: ${keys.size}.`);
    } catch (error) {
      log.warn(`${(error as Error).message}. The keys stay as they were.`);
    }
  };
  watchFile(file, { interval: everyMs, persistent: false }, reload);
  return { keys, close: () => unwatchFile(file, reload) };
}

// The start of a session: its turn, the head of the chain, and what the database is filled from.
import { setTimeout as sleep } from "node:timers/promises";
import { isFirstWriter } from "../db/first-writer.ts";
import { ChainHead, MAX_POLL_MS } from "./chain-head.ts";
import { checkCode, isRecognised } from "./contract-state.ts";
import { FIRST_BLOCK_SETTING, recordedAs } from "./contracts.ts";
import { Halt } from "./halt.ts";
import type { OfferChecks } from "./offer-checks.ts";
import type { Reading } from "./chain-reading.ts";
import { contractsMade, findContracts } from "./missing-contracts.ts";
import { lastBlock, newestRow, type Recorded } from "./written-blocks.ts";
import type { Recording } from "./recording.ts";
import { Repeating } from "./repeating.ts";

/** What the sessions of an indexer share. */
export interface Shared extends Reading {
  checks: OfferChecks;
  /** Is called whenever the indexer is known to work. */
  onProgress: () => void;
}

export interface Start {
  head: ChainHead;
  /** The last block of the database. */
  last: Recorded | undefined;
}

/** Resolves when there is something to write. Throws a `Halt` where the database is filled from something else. */
export async function startSession(shared: Shared, recording: Recording): Promise<Start> {
  await waitForTurn(shared, recording);
  await recording.load();
  let last = await lastBlock(recording.client);
  if (last?.hash === null) {
    throw new Halt(
      `The head of the database, block ${last.number}, has no hash: it was not written by an indexer. Index into a new database.`,
    );
  }
  if (last !== undefined) {
    shared.onEvent?.({ event: "begun", indexed: last.number, time: last.time });
  }
  const head = await ChainHead.find(shared);
  if (last === undefined) await waitForFirst(shared, head);
  await shared.checks.learnKind(head.latest.number);
  for (const one of shared.others ?? []) {
    if (one.firstBlock <= head.latest.number) {
      await checkCode({ ...one, requests: shared.requests }, head.latest.number);
    }
  }
  await recordSource(shared, recording);
  if (recording.checked.lacksContracts)
    last = await findContracts(shared, recording, { head, last });
  if ((await newestRow(recording.client)) === undefined)
    await noticeOthers(shared, head.latest.number);
  return { head, last };
}

/** By their requests: the indexers that have said it, which begin a session after each failure. */
const noticed = new WeakSet<Shared["requests"]>();

/** A factory under the name of another kind gives no row, and so looks like one without trades. */
async function noticeOthers(shared: Shared, latest: number): Promise<void> {
  const { exchange, decoder, fromBlock, others = [], requests, onEvent } = shared;
  if (noticed.has(requests)) return;
  for (const one of [{ exchange, decoder, firstBlock: fromBlock }, ...others]) {
    if (one.firstBlock > latest || (await isRecognised({ ...one, requests }, latest))) continue;
    const calls = one.decoder.recognisedBy?.map(({ name }) => name).join(" nor ") ?? "";
    const reason = `${one.exchange} answers neither ${calls}, so it seems to be no pool or factory of the kind ${one.decoder.kind}. No row may come of it: compare EXCHANGE`;
    onEvent?.({ event: "notice", reason });
  }
  noticed.add(requests);
}

async function waitForTurn({ signal, onEvent }: Shared, recording: Recording): Promise<void> {
  for (let isSaid = false; !(await isFirstWriter(recording.client)); isSaid = true) {
    if (!isSaid)
      onEvent?.({ event: "waiting", reason: "Another indexer or a mirror writes to the database" });
    await sleep(MAX_POLL_MS, undefined, { signal });
  }
}

/** Waits where the chain does not have the first block yet: the contract may not be made. */
async function waitForFirst(
  { fromBlock, signal, onEvent, repeatMs }: Shared,
  head: ChainHead,
): Promise<void> {
  const waiting = new Repeating(repeatMs);
  while (head.latest.number < fromBlock) {
    if (waiting.isDue("the first block")) {
      const reason = `The first block, ${fromBlock} (${FIRST_BLOCK_SETTING}), is above the head of the chain, block ${head.latest.number}`;
      onEvent?.({ event: "waiting", reason });
    }
    await sleep(head.pollMs, undefined, { signal });
    await head.learn();
  }
}

/** Records what the database is filled from. */
async function recordSource(shared: Shared, recording: Recording): Promise<void> {
  const { exchange, fromBlock, taker = "event", decoder, others = [], requests, onEvent } = shared;
  if (!(await recording.learnChecked())) await checkNewestRow(shared, recording);
  const { chainId = 0 } = requests;
  const given = {
    ...{ chainId, exchange: recordedAs({ exchange, decoder }, others), kind: decoder.kind },
    ...{ firstBlock: fromBlock, taker },
  };
  if (await recording.begin(given)) {
    const reason = `The database did not say what it was filled from. It is recorded now as given: chain ${chainId}, ${given.exchange}, from block ${fromBlock}, taker by ${taker}. \`--verify\` compares it with the chain`;
    onEvent?.({ event: "notice", reason });
  }
}

/** Halts where the newest rows of the database are of another exchange. */
async function checkNewestRow(
  { source, exchange, fromBlock, known }: Shared,
  { client }: Recording,
): Promise<void> {
  const newest = await newestRow(client);
  if (newest === undefined) return;
  const header = await source.headerAt(newest.block);
  // Of another branch, or not known there: that is seen later.
  if (header?.hash !== newest.hash) return;
  for await (const found of contractsMade(source, fromBlock, newest.block)) known.written(found);
  const { facts } = await source.blockOf(header);
  if (facts.some(({ tx }) => tx === newest.tx)) return;
  throw new Halt(
    `The database has rows of another exchange: ${exchange} has no log in the transaction ${newest.tx} of block ${newest.block}.`,
  );
}

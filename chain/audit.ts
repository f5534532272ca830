// Compares the open offers with the contract's own state: what a lost log would have changed differs there.
import type { ContractCall, Decoder } from "./facts.ts";
import { Contradiction, type Ledger, type OpenOffer } from "./ledger.ts";
import { Refused, type Requests } from "./requests.ts";

export interface AuditOptions {
  requests: Requests;
  exchange: string;
  decoder: Decoder;
  ledger: Ledger;
  /** The last block of which the ledger has the facts. */
  block: StateBlock;
}

/** The block whose state is read; without a hash whichever has the number. */
export interface StateBlock {
  number: number;
  hash: string | null;
}

/** How many offers are asked at once. */
const AT_ONCE = 50;

/** The state of the contract cannot be read: it has no such function, or the node does not keep the state. */
export class NotAudited extends Error {
  override readonly name = "NotAudited";
}

/** Throws a `Contradiction` for an offer that is otherwise on the chain, `NotAudited` where that cannot be known. */
export async function audit(options: AuditOptions): Promise<void> {
  const { decoder, ledger, block: last } = options;
  const block = last.number;
  if (decoder.state === undefined) return;
  const { lastOffer } = decoder.state;
  const id = await read(options, lastOffer);
  const { lastMade } = ledger;
  if (lastMade !== undefined && id !== lastMade.id) {
    // One node's word is not enough to doubt what was read.
    options.requests.askElsewhere();
    const again = await read(options, lastOffer);
    if (again !== lastMade.id) {
      throw new Contradiction(
        `the last offer is ${lastMade.id} by the logs up to block ${block}, and ${again} by the contract`,
        lastMade.block,
      );
    }
  }
  ledger.learnLastMade(lastMade?.id ?? id, block);
  const doubtful = await differences(options, [...ledger.open.values()]);
  if (doubtful.length === 0) return;
  options.requests.askElsewhere();
  const [found] = await differences(
    options,
    doubtful.map(({ offer }) => offer),
  );
  if (found === undefined) return;
  const { offer, onChain } = found;
  throw new Contradiction(
    `offer ${offer.id} has ${offer.lotAmt} for ${offer.bidAmt} left by the logs up to block ${block}, and ${onChain.lotAmt} for ${onChain.bidAmt} by the contract`,
    offer.block,
  );
}

type Left = Pick<OpenOffer, "lotAmt" | "bidAmt">;

/** The offers of which the contract has another amount left. */
async function differences(options: AuditOptions, offers: readonly OpenOffer[]) {
  const { state } = options.decoder;
  const found: { offer: OpenOffer; onChain: Left }[] = [];
  for (let at = 0; at < offers.length && state !== undefined; at += AT_ONCE) {
    await Promise.all(
      offers.slice(at, at + AT_ONCE).map(async (offer) => {
        const onChain = await read(options, state.offer(offer.id));
        const { lotAmt, bidAmt } = offer;
        if (lotAmt !== onChain.lotAmt || bidAmt !== onChain.bidAmt) found.push({ offer, onChain });
      }),
    );
  }
  return found;
}

/**
 * The id of the last offer made up to the block; undefined where the contract or the node does not tell, and
 * `withoutContract` where the contract is not made yet.
 */
export async function lastOfferAt(
  { requests, exchange, decoder }: Omit<AuditOptions, "ledger" | "block">,
  block: StateBlock,
  withoutContract?: number,
): Promise<number | undefined> {
  try {
    const code = await requests.ask("eth_getCode", [exchange, named(block)], String);
    if (code === "0x") return withoutContract;
    if (decoder.state === undefined) return undefined;
    return await read({ requests, exchange, block }, decoder.state.lastOffer);
  } catch (error) {
    if (error instanceof Refused || error instanceof NotAudited) return undefined;
    throw error;
  }
}

type Reading = Pick<AuditOptions, "requests" | "exchange" | "block">;

async function read<T>(
  { requests, exchange, block }: Reading,
  { data, read: readResult }: ContractCall<T>,
): Promise<T> {
  const params = [{ to: exchange, data }, named(block)];
  let answer: string;
  try {
    answer = await requests.ask("eth_call", params, String);
  } catch (error) {
    if (error instanceof Refused) throw new NotAudited(error.message);
    throw error;
  }
  const value = readResult(answer);
  if (value === undefined)
    throw new NotAudited(`the contract does not answer ${data.slice(0, 10)}`);
  return value;
}

/** By its hash, so that it is of the branch that is meant (EIP-1898). */
const named = ({ number, hash }: StateBlock): string | { blockHash: string } =>
  hash === null ? `0x${number.toString(16)}` : { blockHash: hash };

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
  const { lastOffer, offer: stateOf } = decoder.state;
  const id = await read(options, lastOffer);
  const { lastMade } = ledger;
  if (lastMade !== undefined && id !== lastMade.id) {
    const again = await readElsewhere(options, lastOffer);
    if (again !== lastMade.id) {
      throw new Contradiction(
        `the last offer is ${lastMade.id} by the logs up to block ${block}, and ${again} by the contract`,
        lastMade.block,
      );
    }
  }
  ledger.learnLastMade(lastMade?.id ?? id, block);
  const open = [...ledger.open.values()];
  for (let at = 0; at < open.length; at += AT_ONCE) {
    await Promise.all(
      open.slice(at, at + AT_ONCE).map(async (offer) => {
        const call = stateOf(offer.id);
        if (isSame(offer, await read(options, call))) return;
        const onChain = await readElsewhere(options, call);
        if (isSame(offer, onChain)) return;
        throw new Contradiction(
          `offer ${offer.id} has ${offer.lotAmt} for ${offer.bidAmt} left by the logs up to block ${block}, and ${onChain.lotAmt} for ${onChain.bidAmt} by the contract`,
          offer.block,
        );
      }),
    );
  }
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

const isSame = (one: OpenOffer, other: Pick<OpenOffer, "lotAmt" | "bidAmt">): boolean =>
  one.lotAmt === other.lotAmt && one.bidAmt === other.bidAmt;

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

/** One node's word is not enough to doubt what was read. */
function readElsewhere<T>(options: Reading, call: ContractCall<T>): Promise<T> {
  options.requests.askElsewhere();
  return read(options, call);
}

/** By its hash, so that it is of the branch that is meant (EIP-1898). */
const named = ({ number, hash }: StateBlock): string | { blockHash: string } =>
  hash === null ? `0x${number.toString(16)}` : { blockHash: hash };

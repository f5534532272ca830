// Asks the exchange's contract for its own state: whether it has code, its last offer, and what is left of one.
import { numberToHex } from "viem";
import { isContractFailure } from "./call-failures.ts";
import type { ContractCall, Decoder } from "./exchange-facts.ts";
import { EXIT, Halt } from "./halt.ts";
import { Refused, Unavailable, type Requests } from "./requests.ts";
import type { Recorded } from "./written-blocks.ts";

export interface Contract {
  requests: Requests;
  exchange: string;
  decoder: Decoder;
}

/** The block whose state is read; without a hash whichever has the number. */
export type StateBlock = Pick<Recorded, "number" | "hash">;

/** The state of the contract cannot be read now. */
export class NotAudited extends Error {
  override readonly name = "NotAudited";
}

/**
 * Whether the contract returns its last offer in this block: only then it counts its offers, and says what is left of
 * one that is cancelled. Halts where the address is of no contract.
 */
export async function returnsOffers(contract: Contract, latest: number): Promise<boolean> {
  const last = lastOfferAt(contract, { number: latest, hash: null });
  if ((await orUnavailable(last, kindOf(contract))) !== undefined) return true;
  await checkCode(contract, latest);
  return false;
}

/** Halts where the address is of no contract in this block. */
export async function checkCode(contract: Contract, latest: number): Promise<void> {
  const { exchange, requests } = contract;
  const isThere = hasCode(contract, { number: latest, hash: null });
  if (await orUnavailable(isThere, kindOf(contract))) return;
  throw new Halt(
    `The address ${exchange} has no code on chain ${requests.chainId} in block ${latest}: it is not the exchange's contract, or the nodes are of another chain. Nothing was written.`,
    EXIT.usage,
  );
}

const kindOf = ({ exchange }: Contract): string =>
  `the kind of the contract ${exchange} is not known`;

const orUnavailable = <T>(read: Promise<T>, lack: string): Promise<T> =>
  read.catch((error: unknown) => {
    throw error instanceof NotAudited ? new Unavailable(`${lack}: ${error.message}`) : error;
  });

/** Whether the contract answers one of the calls by which its kind is recognised; also where that cannot be known. */
export async function isRecognised(contract: Contract, latest: number): Promise<boolean> {
  const { recognisedBy = [] } = contract.decoder;
  try {
    for (const call of recognisedBy) {
      if ((await readState(contract, { number: latest, hash: null }, call)) !== undefined)
        return true;
    }
  } catch (error) {
    if (error instanceof NotAudited) return true;
    throw error;
  }
  return recognisedBy.length === 0;
}

/** The id of the last offer made up to the block; undefined where the contract does not return it. */
async function lastOfferAt(contract: Contract, block: StateBlock): Promise<number | undefined> {
  const { state } = contract.decoder;
  return state && readTwice(contract, block, state.lastOffer);
}

/** The same of a contract that is known to return it: before it is made, it has made no offer. */
export async function lastOfferOfKind(
  contract: Contract,
  block: StateBlock,
): Promise<number | undefined> {
  const id = await lastOfferAt(contract, block);
  return id === undefined && !(await hasCode(contract, block)) ? 0 : id;
}

/** Whether the address has code in this block: not, where two answers say so. */
async function hasCode({ requests, exchange }: Contract, block: StateBlock): Promise<boolean> {
  const ask = () =>
    requests
      .ask("eth_getCode", [exchange, named(block)], (result) => {
        if (typeof result === "string" && /^0x([0-9a-fA-F]{2})*$/.test(result)) return result;
        throw new Error("the answer is no code");
      })
      .catch((error: unknown) => {
        throw error instanceof Refused ? new NotAudited(error.message) : error;
      });
  if ((await ask()) !== "0x") return true;
  requests.askElsewhere();
  return (await ask()) !== "0x";
}

/** Undefined where the contract reverts or returns nothing. Throws `NotAudited` for any other refusal. */
export async function readState<T>(
  { requests, exchange }: Contract,
  block: StateBlock,
  { name, data, read: readResult }: ContractCall<T>,
): Promise<T | undefined> {
  try {
    return await requests.ask("eth_call", [{ to: exchange, data }, named(block)], (result) => {
      if (result === "0x") return undefined;
      const value = readResult(String(result));
      if (value === undefined) throw new Error(`the answer to ${name} has another form`);
      return value;
    });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (isContractFailure(error.reason)) return undefined;
    throw new NotAudited(error.message);
  }
}

/** That a contract does not return it is believed when two answers say so, of two nodes where there are two. */
export async function readTwice<T>(
  contract: Contract,
  block: StateBlock,
  call: ContractCall<T>,
): Promise<T | undefined> {
  const first = await readState(contract, block, call);
  if (first !== undefined) return first;
  contract.requests.askElsewhere();
  return readState(contract, block, call);
}

/**
 * What a contract returns that never changes. Every row of it would be wrong by a wrong answer, so that one is believed when
 * it came twice, of two nodes where there are two.
 */
export async function askForGood<T extends string | number>(
  contract: Contract,
  latest: number,
  call: ContractCall<T>,
): Promise<T> {
  const { exchange, decoder, requests } = contract;
  const block = { number: latest, hash: null };
  const lack = `the contract ${exchange} cannot be asked`;
  const ask = () => orUnavailable(readState(contract, block, call), lack);
  const first = await ask();
  requests.askElsewhere();
  const second = await ask();
  if (first !== second) {
    throw new Unavailable(`the contract ${exchange} answers ${call.name} otherwise each time`);
  }
  if (first !== undefined) return first;
  throw new Halt(
    `The contract ${exchange} does not return ${call.name}: it is not of the kind ${decoder.kind}.`,
    EXIT.usage,
  );
}

/** By its hash, so that it is of the branch that is meant (EIP-1898). */
export const named = ({ number, hash }: StateBlock): string | { blockHash: string } =>
  hash === null ? numberToHex(number) : { blockHash: hash };

// An exchange on a test chain: each method sends one transaction from an account, by its index.
import { encodeFunctionData, parseEventLogs, type Address, type Hash, type Hex } from "viem";
import { EXCHANGE_ABI, EXCHANGE_EVENTS, TAKER_ABI } from "./exchange-abi.ts";
import type { ChainClient } from "./chain.ts";
import type { Compiled } from "./child.ts";

/** A block has room for 100 transactions. */
const GAS = 2_000_000n;

/** Enough to match some hundred offers. */
const MATCH_GAS = 10_000_000n;

/** What an offer pays, and what it asks for it. */
export interface OfferTerms {
  pay: Address;
  payAmount: bigint;
  buy: Address;
  buyAmount: bigint;
}

export interface StandingOffer extends OfferTerms {
  id: bigint;
  maker: Address;
  timestamp: bigint;
}

/** What an exchange needs of its chain. */
export interface Sending {
  client: ChainClient;
  send: (account: number, transaction: { to: Address; data: Hex; gas: bigint }) => Promise<Hash>;
  /** A contract by its name, or one that ships compiled. */
  deploy: (contract: string | Compiled, args?: readonly unknown[]) => Promise<Address>;
}

/**
 * Resolves to the hash of the transaction when the node has it: with automine that is after its block.
 * A transaction that the contract refuses is in its block all the same, as `status: "reverted"`.
 */
export class Exchange {
  readonly address: Address;
  readonly #sending: Sending;

  constructor(address: Address, sending: Sending) {
    this.address = address;
    this.#sending = sending;
  }

  make(account: number, { pay, payAmount, buy, buyAmount }: OfferTerms): Promise<Hash> {
    return this.#send(
      account,
      encodeFunctionData({
        abi: EXCHANGE_ABI,
        functionName: "make",
        args: [pay, payAmount, buy, buyAmount],
      }),
    );
  }

  /** Takes this quantity of what the offer pays. */
  take(account: number, id: bigint, quantity: bigint): Promise<Hash> {
    return this.#send(
      account,
      encodeFunctionData({ abi: EXCHANGE_ABI, functionName: "take", args: [id, quantity] }),
    );
  }

  kill(account: number, id: bigint): Promise<Hash> {
    return this.#send(
      account,
      encodeFunctionData({ abi: EXCHANGE_ABI, functionName: "kill", args: [id] }),
    );
  }

  bump(account: number, id: bigint): Promise<Hash> {
    return this.#send(
      account,
      encodeFunctionData({ abi: EXCHANGE_ABI, functionName: "bump", args: [id] }),
    );
  }

  /** Takes the offers that this one crosses, and makes an offer of what is left. */
  match(account: number, { pay, payAmount, buy, buyAmount }: OfferTerms): Promise<Hash> {
    return this.#send(
      account,
      encodeFunctionData({
        abi: EXCHANGE_ABI,
        functionName: "matchOrMake",
        args: [pay, payAmount, buy, buyAmount],
      }),
      MATCH_GAS,
    );
  }

  whitelist(account: number, base: Address, quote: Address): Promise<Hash> {
    return this.#send(
      account,
      encodeFunctionData({ abi: EXCHANGE_ABI, functionName: "whitelist", args: [base, quote] }),
    );
  }

  unwhitelist(account: number, base: Address, quote: Address): Promise<Hash> {
    return this.#send(
      account,
      encodeFunctionData({ abi: EXCHANGE_ABI, functionName: "unwhitelist", args: [base, quote] }),
    );
  }

  /** A remainder below this amount of the token that an offer pays is killed. */
  setDust(account: number, token: Address, amount: bigint): Promise<Hash> {
    return this.#send(
      account,
      encodeFunctionData({ abi: EXCHANGE_ABI, functionName: "setDust", args: [token, amount] }),
    );
  }

  /** Deploys a contract that takes offers for an account: the event's taker is that contract. */
  async deployTaker(): Promise<Taker> {
    const { deploy, send } = this.#sending;
    const address = await deploy("TakerContract", [this.address]);
    return {
      address,
      take: (account, ...takes) =>
        send(account, {
          to: address,
          data: encodeFunctionData({
            abi: TAKER_ABI,
            functionName: "take",
            args: [takes.map(({ id }) => id), takes.map(({ quantity }) => quantity)],
          }),
          gas: MATCH_GAS,
        }),
    };
  }

  /** The ids that a mined transaction made offers of. */
  async madeBy(hash: Hash): Promise<bigint[]> {
    const logs = await this.logsOf(hash);
    return logs.flatMap(({ eventName, args }) =>
      eventName === "LogMake" ? [BigInt(args.id)] : [],
    );
  }

  /** The logs of a mined transaction, decoded. */
  async logsOf(hash: Hash) {
    const { logs } = await this.#sending.client.getTransactionReceipt({ hash });
    return parseEventLogs({ abi: EXCHANGE_EVENTS, logs });
  }

  lastId(): Promise<bigint> {
    return this.#sending.client.readContract({
      address: this.address,
      abi: EXCHANGE_ABI,
      functionName: "lastId",
    });
  }

  /** undefined: there is none, or it is taken or killed. */
  async offer(id: bigint): Promise<StandingOffer | undefined> {
    const [payAmount, buyAmount, pay, buy, maker, timestamp] =
      await this.#sending.client.readContract({
        address: this.address,
        abi: EXCHANGE_ABI,
        functionName: "offers",
        args: [id],
      });
    return payAmount === 0n ? undefined : { id, pay, payAmount, buy, buyAmount, maker, timestamp };
  }

  #send(account: number, data: Hex, gas = GAS): Promise<Hash> {
    return this.#sending.send(account, { to: this.address, data, gas });
  }
}

export interface Taker {
  address: Address;
  /** All takes in one transaction. */
  take(account: number, ...takes: { id: bigint; quantity: bigint }[]): Promise<Hash>;
}

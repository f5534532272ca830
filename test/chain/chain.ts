// A real chain for a test: its node, its time, its reorganisations, and the contracts on it.
import {
  createTestClient,
  encodeDeployData,
  getContractAddress,
  http,
  numberToHex,
  padHex,
  publicActions,
  walletActions,
  type Address,
  type Hex,
} from "viem";
import { hardhat } from "viem/chains";
import { compile, startNode, type Compiled } from "./child.ts";
import { Exchange, type Sending } from "./exchange.ts";
import { deploymentOf, type TokenKind, type TokenOptions } from "./tokens.ts";

/** Enough for a token with 10 kB of text. It is given, since a call on what is not mined yet has no estimate. */
const DEPLOY_GAS = 16_000_000n;

export interface ChainOptions {
  /** The time of the first block, else the present. */
  start?: Date;
  /** Else a free one. */
  port?: number;
}

export interface TestChain {
  url: string;
  /** The process of the node, for a test that kills it. */
  pid: number;
  client: ChainClient;
  /** The accounts that can send transactions, by index. */
  accounts: readonly Address[];
  stop(): Promise<void>;
  /** Remembers this state. A snapshot can be reverted to once. */
  snapshot(): Promise<Hex>;
  /**
   * Takes back all blocks since the snapshot. The blocks that follow have other hashes than those taken
   * back had, even if they hold the same transactions at the same time.
   */
  revert(id: Hex): Promise<void>;
  /** Mines blocks; the first has the transactions that wait. Resolves to the number of the last. */
  mine(blocks?: number, spacing?: { secondsApart?: number }): Promise<bigint>;
  /** Whether each transaction makes its own block. Without it they wait for `mine`, and share a block. */
  setAutomine(on: boolean): Promise<void>;
  /** `broken`: its LogTrade is missing or has other amounts than its LogTake. */
  deployExchange(broken?: "no trade" | "other trade"): Promise<Exchange>;
  deployToken<Kind extends TokenKind>(kind: Kind, options?: TokenOptions[Kind]): Promise<Address>;
  /** For contracts beside these: deploys them, and sends transactions to them. */
  sending: Sending;
}

function clientOf(url: string) {
  return createTestClient({
    mode: "hardhat",
    chain: hardhat,
    // An error is the answer of this node, not a fault of the way to it.
    transport: http(url, { retryCount: 0 }),
    cacheTime: 0,
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions);
}

/** viem's actions of a test, of a reader and of a wallet. */
export type ChainClient = ReturnType<typeof clientOf>;

export async function startChain({ start, port }: ChainOptions = {}): Promise<TestChain> {
  const [contracts, node] = await Promise.all([compile(), startNode(start, port)]);
  const client = clientOf(node.url);
  const accounts = await client.getAddresses();
  let branches = 0;

  const mine = async (blocks = 1, { secondsApart }: { secondsApart?: number } = {}) => {
    // One by one: `hardhat_mine` makes up the blocks of a long row without hashing them.
    for (let n = 0; n < blocks; n++) {
      if (secondsApart !== undefined) {
        const { timestamp } = await client.getBlock();
        await client.setNextBlockTimestamp({ timestamp: timestamp + BigInt(secondsApart) });
      }
      await client.mine({ blocks: 1 });
    }
    return client.getBlockNumber();
  };

  /** The address is known before the transaction is mined, so that it can share a block. */
  const deploy = async (
    given: string | Compiled,
    args: readonly unknown[] = [],
  ): Promise<Address> => {
    const contract = typeof given === "string" ? contracts[given] : given;
    const from = accounts[0]!;
    if (contract === undefined) throw new Error(`no contract is named ${given as string}`);
    const nonce = await client.getTransactionCount({ address: from, blockTag: "pending" });
    const data = encodeDeployData({ ...contract, args });
    await client.sendTransaction({ account: from, data, nonce, gas: DEPLOY_GAS });
    return getContractAddress({ from, nonce: BigInt(nonce) });
  };

  const sending: Sending = {
    client,
    deploy,
    send: (account, transaction) =>
      client.sendTransaction({ account: accounts[account]!, ...transaction }),
  };

  return {
    url: node.url,
    pid: node.pid,
    client,
    accounts,
    stop: () => node.stop(),
    snapshot: () => client.snapshot(),
    async revert(id) {
      await client.revert({ id });
      branches++;
      // The beneficiary is in the header: without it an equal block would have an equal hash.
      await client.setCoinbase({ address: padHex(numberToHex(0xb0000 + branches), { size: 20 }) });
    },
    mine,
    setAutomine: (on) => client.setAutomine(on),
    async deployExchange(broken) {
      const address =
        broken === undefined
          ? await deploy("Exchange", [])
          : await deploy("BrokenExchange", [broken === "no trade"]);
      return new Exchange(address, sending);
    },
    deployToken(kind, options) {
      const { contract, args } = deploymentOf(kind, options);
      return deploy(contract, args);
    },
    sending,
  };
}

// The generated chain's exchange, from the recorded node of the benchmark.
import { createConfig } from "ponder";
import { parseAbi } from "viem";

const { RPC_URLS, CHAIN_ID, EXCHANGE, FROM_BLOCK, TO_BLOCK, DATABASE_URL } = process.env;

const OFFER =
  "bytes32 indexed id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, uint128 pay_amt, uint128 buy_amt, uint64 timestamp";

export default createConfig({
  database: { kind: "postgres", connectionString: DATABASE_URL },
  chains: { recorded: { id: Number(CHAIN_ID), rpc: RPC_URLS.split(",") } },
  contracts: {
    Exchange: {
      abi: parseAbi([
        `event LogMake(${OFFER})`,
        `event LogKill(${OFFER})`,
        "event LogTake(bytes32 id, bytes32 indexed pair, address indexed maker, address pay_gem, address buy_gem, address indexed taker, uint128 take_amt, uint128 give_amt, uint64 timestamp)",
      ]),
      chain: "recorded",
      address: EXCHANGE,
      startBlock: Number(FROM_BLOCK),
      endBlock: Number(TO_BLOCK),
    },
  },
});

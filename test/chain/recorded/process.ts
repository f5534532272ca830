// Serves a recorded chain as a process: the file of RAW_LOGS, else a chain made up of EVENTS in BLOCKS, of swaps where there are POOLS.
import { generateChain } from "./generate.ts";
import { generatePools } from "./generate-pools.ts";
import { readRawLogs } from "./raw-logs.ts";
import { serve, ServedChain } from "./recorded-node.ts";
import { listenAndTell } from "../../../bench/servers/listen-free.ts";

const { RAW_LOGS, EVENTS = "100000", BLOCKS = "20000", SEED = "1", HEAD } = process.env;
const { FIRST_TIMESTAMP = "1600000000", SECONDS_APART = "12", POOLS = "0" } = process.env;

const options = {
  events: Number(EVENTS),
  blocks: Number(BLOCKS),
  seed: Number(SEED),
  firstTimestamp: Number(FIRST_TIMESTAMP),
  secondsApart: Number(SECONDS_APART),
};
const generate = (pools: number) =>
  pools === 0 ? generateChain(options) : generatePools({ ...options, pools });
const chain = RAW_LOGS === undefined ? generate(Number(POOLS)) : await readRawLogs(RAW_LOGS);
listenAndTell(serve(new ServedChain(chain, HEAD === undefined ? {} : { head: Number(HEAD) })));

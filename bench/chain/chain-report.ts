// Formats the results of `npm run bench -- chain` as Markdown.
import { goal, goalsTable, runLines, table, whole, type Run } from "../harness.ts";
import { median, percentile } from "../load/statistics.ts";
import type { Backfill } from "./index-speed.ts";
import type { Head } from "./head-delay.ts";

export function chainPage(run: Run, backfill: Backfill, head: Head | undefined): string[] {
  const { events, pools, blocks, logs, rounds, rates } = backfill;
  const turns = rates.indexer.map((rate, turn) => rate / (rates.bare[turn] ?? NaN));
  const range = `(${Math.min(...turns).toFixed(2)} to ${Math.max(...turns).toFixed(2)})`;
  const goals = [
    goal(
      `backfill: its rate against fetching, cutting words by hand and COPY ${range}`,
      median(rates.indexer) / median(rates.bare),
      { atLeast: 0.5 },
      (value) => `${value.toFixed(2)} ×`,
    ),
  ];
  if (head !== undefined) {
    const name = "head: from the node's new block to the REST answer, median";
    goals.push(goal(name, median(head.latencies), { atMost: 300 }, (ms) => `${ms.toFixed(0)} ms`));
  }
  return [
    "# Indexing a chain",
    runLines(
      run,
      `an event is ${pools > 0 ? `a swap of one of ${whole(pools)} Uniswap v2 pairs` : "an offer made, taken or killed"}; the recorded node is a separate process`,
    ),
    "## Goals",
    goalsTable(goals),
    "## Backfill",
    `${whole(events)} events (${whole(logs)} logs with those of another contract) in ${whole(blocks)} blocks, ` +
      `into a new database each time; ${rounds} rounds in turns, after one that is not counted.`,
    table(
      ["events a second", "median", "min", "max"],
      [
        ["this indexer", ...spread(rates.indexer)],
        ["fetch, words cut by hand, COPY into bare tables", ...spread(rates.bare)],
      ],
    ),
    ...(head === undefined ? [] : ["## At the head", ...headPart(head)]),
  ];
}

const headPart = ({ blocks, events, path, latencies }: Head): string[] => [
  `A block of ${events} events each second, ${blocks} of them; the service as \`npm start\` starts it, with RPC_URL, ` +
    `EXCHANGE and FROM_BLOCK; from the moment that the node has the block until \`${path}\` has it.`,
  table(
    ["milliseconds", "median", "min", "max", "p99"],
    [
      [
        "from the node's block to the answer",
        ...spread(latencies),
        whole(percentile(latencies, 0.99)),
      ],
    ],
  ),
];

const spread = (values: number[]): string[] =>
  [median(values), Math.min(...values), Math.max(...values)].map(whole);

// Formats the results of `npm run bench:chain` as Markdown.
import { median, percentile } from "../load/statistics.ts";
import { table } from "../report/table.ts";
import { INDEXER, PONDER, PONDER_MANY } from "./beside-ponder.ts";
import type { Backfill, BesidePonder, ChainResults, Head } from "./results.ts";

export interface Goal {
  name: string;
  value: string;
  bound: string;
  isReached: boolean;
}

/** The goals of what was measured. */
export function goalsOf({ backfill, ponder, head }: ChainResults): Goal[] {
  const goals = [
    atLeast(
      "backfill: its rate against fetching, viem's decodeEventLog and COPY",
      backfill.rates.indexer,
      backfill.rates.bare,
      0.5,
    ),
  ];
  if (ponder !== undefined) {
    for (const name of [PONDER, PONDER_MANY]) {
      const { [INDEXER]: ours = [], [name]: theirs = [] } = ponder.rates;
      goals.push(atLeast(`backfill: its rate against ${name}`, ours, theirs, 10));
    }
  }
  if (head !== undefined) {
    const middle = median(head.latencies);
    goals.push({
      name: "head: from the node's new block to the REST answer, median",
      value: `${middle.toFixed(0)} ms`,
      bound: "≤ 300 ms",
      isReached: middle <= 300,
    });
  }
  return goals;
}

/** The ratio of the medians, with the least and the most of the turns' ratios in parentheses. */
function atLeast(name: string, above: number[], below: number[], bound: number): Goal {
  const ratio = median(above) / median(below);
  const turns = above.map((rate, turn) => rate / (below[turn] ?? NaN));
  const digits = ratio < 10 ? 2 : 0;
  const [shown, least, most] = [ratio, Math.min(...turns), Math.max(...turns)].map((value) =>
    value.toFixed(digits),
  );
  return {
    name,
    value: `${shown} × (${least} to ${most})`,
    bound: `≥ ${bound} ×`,
    isReached: ratio >= bound,
  };
}

export function chainReport(results: ChainResults): string {
  const { machine, backfill, ponder, head } = results;
  const parts = [
    "# Indexing a chain",
    [
      `- ${results.at}, by \`${results.command}\``,
      `- ${machine.processor}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ${machine.system}; ` +
        "node, indexer and database share them",
      `- the machine's load average of the 15 minutes before was ${machine.loadBefore}` +
        (machine.loadBefore > machine.cores / 4 ? ": others were using it too" : ""),
      `- Node ${machine.node}, PostgreSQL ${machine.postgresql}`,
      "- an event is an offer made, taken or killed; the recorded node is a process of its own",
    ].join("\n"),
    "## Goals",
    table(
      ["goal", "value", "bound", ""],
      goalsOf(results).map(({ name, value, bound, isReached }) => [
        ...[name, value, bound, isReached ? "reached" : "**missed**"],
      ]),
    ),
    "## Backfill",
    backfillPart(backfill),
  ];
  if (ponder !== undefined) parts.push("## Beside Ponder", ponderPart(ponder));
  if (head !== undefined) parts.push("## At the head", headPart(head));
  return `${parts.join("\n\n")}\n`;
}

const rateRow = (name: string, rates: number[]): string[] => [
  name,
  ...[median(rates), Math.min(...rates), Math.max(...rates)].map(whole),
];

const RATES = ["events a second", "median", "least", "most"];

function backfillPart({ events, blocks, logs, rounds, rates }: Backfill): string {
  return [
    `${whole(events)} events (${whole(logs)} logs with those of another contract) in ${whole(blocks)} blocks, ` +
      `into a new database each time; ${rounds} rounds in turns, after one that is not counted.`,
    table(RATES, [
      rateRow("this indexer", rates.indexer),
      rateRow("fetch, viem's decodeEventLog, COPY into bare tables", rates.bare),
    ]),
  ].join("\n\n");
}

function ponderPart({ version, events, blocks, rounds, rates, requests }: BesidePonder): string {
  const methods = [...new Set(Object.values(requests).flatMap(Object.keys))].sort();
  const ours = median(rates[INDEXER] ?? []);
  return [
    `${whole(events)} events in ${whole(blocks)} blocks; both as processes on the same node and the same ` +
      `PostgreSQL, each into a new database; ${rounds} rounds in turns. The time is from the first request to ` +
      "the node, after the start of the program, until all is there; the rows are counted afterwards.",
    table(
      [...RATES, "this indexer's rate against it"],
      Object.entries(rates).map(([name, of]) => [
        ...rateRow(name, of),
        `${(ours / median(of)).toFixed(1)} ×`,
      ]),
    ),
    `Ponder ${version} asks for each block that has an event, by default 20 requests a second to a URL at first. ` +
      "With many URLs of one node its limit is lifted; from its cache it asks for nothing but the head.",
    table(
      ["requests to the node", ...methods],
      Object.entries(requests).map(([name, of]) => [
        name,
        ...methods.map((method) => whole(of[method] ?? 0)),
      ]),
    ),
  ].join("\n\n");
}

function headPart({ blocks, path, latencies }: Head): string {
  return [
    `A block each second, ${blocks} of them; the service as \`npm start\` starts it, with RPC_URL, EXCHANGE and ` +
      `FROM_BLOCK; from the moment that the node has the block until \`${path}\` has its trade, over the ` +
      `${latencies.length} blocks with a trade of the market.`,
    table(
      ["milliseconds", "median", "p99", "least", "most"],
      [
        [
          "from the node's block to the answer",
          ...[
            median(latencies),
            percentile(latencies, 0.99),
            Math.min(...latencies),
            Math.max(...latencies),
          ].map(whole),
        ],
      ],
    ),
  ].join("\n\n");
}

const whole = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: 0 });

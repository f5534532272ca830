// Formats the results of `npm run bench -- write` as Markdown.
import { goal, runLines, table, whole, type Goal, type Run } from "../harness.ts";
import { median } from "../load/statistics.ts";
import { bareName, fewName, FULL_BLOCK, NO_ROW, ONE_TRADE, TURNS } from "./results.ts";
import type { Server, Times } from "./results.ts";

const bytes = (name: string, value: number, atMost: number): Goal =>
  goal(name, value, { atMost }, (shown) => `${whole(shown)} B`);
const ratio = (value: number): string => `${value.toFixed(2)} ×`;
const most = (name: string, value: number, atMost: number): Goal =>
  goal(name, value, { atMost }, ratio);
const least = (name: string, value: number, atLeast: number): Goal =>
  goal(name, value, { atLeast }, ratio);

/** The goals, with the measured values. */
export function goalsOf(server: Server): Goal[] {
  const { growth, writtenLive, wal, takenBack, renamed } = server;
  const bounds = [
    bytes("indexes a trade, behind the long history", growth.indexes, 900),
    bytes("heap and indexes a trade, behind the long history", growth.all, 1400),
    bytes("indexes a trade, all written block by block", writtenLive.indexes, 900),
    bytes("heap and indexes a trade, all written block by block", writtenLive.all, 1400),
    bytes("write-ahead log a trade, in blocks of 20", wal.tradesAlone, 3000),
    bytes("the same with 15 offers and 8 cancellations in each block", wal.block, 3000),
  ];
  for (const [times, pages, beside] of [
    [server.times, server.pages, ""],
    [server.timesBesideQuiet, server.pagesBesideQuiet, ", beside quiet pairs"],
  ] as const) {
    const time = (name: string): number => median(times[name] ?? []);
    for (const name of [FULL_BLOCK, ONE_TRADE]) {
      const rate = time(bareName(name)) / time(name);
      const bound = name === ONE_TRADE ? 0.45 : 0.4;
      bounds.push(least(`${name}: its rate against bare inserts${beside}`, rate, bound));
    }
    const empty = time(NO_ROW) / time(bareName(ONE_TRADE));
    bounds.push(most(`${NO_ROW}: its time against a bare insert of one${beside}`, empty, 3));
    if (beside !== "") continue;
    for (const { name } of TURNS) {
      const [many = NaN, few = NaN] = [pages[name], pages[fewName(name)]];
      const longer = time(name) / time(fewName(name));
      bounds.push(most(`${name}: time, the long history against the short`, longer, 1.2));
      bounds.push(most(`${name}: pages, likewise`, many / few, 1.2));
    }
  }
  const [first] = takenBack;
  for (const { trades, milliseconds, pages } of takenBack.slice(1)) {
    const name = `taking ${whole(trades)} trades back, for each of them`;
    bounds.push(most(`${name}: time against 20`, milliseconds / (first?.milliseconds ?? NaN), 1.2));
    bounds.push(most(`${name}: pages against 20`, pages / (first?.pages ?? NaN), 1.2));
  }
  bounds.push(
    most("renaming a token: times a trade is written", renamed.touched / renamed.trades, 1),
  );
  return bounds;
}

export const writePage = (
  run: Run,
  { trades, few, rounds }: { trades: number; few: number; rounds: number },
  servers: Server[],
): string[] => [
  "# Cost of writes",
  runLines(
    run,
    `${whole(trades)} trades of history, and ${whole(few)}, at the same pace: a block each minute, of 20 trades, ` +
      "15 offers and 8 cancellations, in 50 markets",
    `medians of ${rounds} alternating turns, each of 20 full or 40 other blocks`,
  ),
  "## Goals",
  boundsTable(servers),
  ...servers.flatMap((server) => [`## PostgreSQL ${server.postgresql}`, details(server)]),
];

function boundsTable(servers: Server[]): string {
  const columns = servers.map(goalsOf);
  const shown = ({ value, isReached }: Goal): string => (isReached ? value : `**${value}**`);
  return table(
    ["goal", "bound", ...servers.map(({ postgresql }) => postgresql)],
    (columns[0] ?? []).map(({ name, bound }, row) => [
      ...[name, bound],
      ...columns.map((bounds) => (bounds[row] === undefined ? "" : shown(bounds[row]))),
    ]),
  );
}

function details(server: Server): string {
  const { wal, takenBack, renamed, registered } = server;
  const row = (name: string, times: Times, pages: Record<string, number>): string[] => [
    name,
    ...[name, bareName(name), fewName(name)].map((key) =>
      times[key] === undefined ? "" : median(times[key]).toFixed(2),
    ),
    ...[name, fewName(name)].map((key) => whole(pages[key] ?? NaN)),
  ];
  return [
    table(
      [
        "a block of",
        "ms",
        "ms, bare inserts",
        "ms, short history",
        "pages",
        "pages, short history",
      ],
      [
        ...TURNS.map(({ name }) => row(name, server.times, server.pages)),
        ...TURNS.map(({ name }) => {
          const [, ...cells] = row(name, server.timesBesideQuiet, server.pagesBesideQuiet);
          return [`${name}, beside ${whole(registered.pairs)} quiet pairs`, ...cells];
        }),
      ],
    ),
    table(
      ["taken back", "ms a trade", "pages a trade"],
      takenBack.map(({ trades, milliseconds, pages }) => [
        ...[whole(trades), milliseconds.toFixed(3), pages.toFixed(1)],
      ]),
    ),
    [
      `- write-ahead log per trade: ${whole(wal.tradesAlone)} bytes in blocks of 20 trades, ` +
        `${whole(wal.block)} with 15 offers and 8 cancellations in each block, over ${whole(wal.trades)} ` +
        "trades with `full_page_writes = off`; with `full_page_writes = on`, right after a checkpoint, " +
        `${whole(wal.behindCheckpoint)} (the share of a checkpoint depends on their frequency)`,
      `- renaming a token of ${whole(renamed.trades)} trades writes ${whole(renamed.touched)} of them, ` +
        `${renamed.milliseconds.toFixed(3)} ms each`,
      `- registering a pair without trades, the last of ${whole(registered.pairs)}: ` +
        `${registered.milliseconds.toFixed(2)} ms, ${whole(registered.pages)} pages`,
    ].join("\n"),
  ].join("\n\n");
}

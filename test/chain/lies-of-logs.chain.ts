// Nodes that lie about logs: dropped, added, changed, or refused by ranges.
import { describeLies } from "./lies.ts";

describeLies([
  ["refuses ranges", { name: "range refused", provider: "Infura, logs", limit: 20 }, /never/],
  ["refuses ranges of 9 blocks", { name: "range refused", provider: "BlockPI", limit: 9 }, /never/],
  ["drops all logs", { name: "dropped logs", which: "all" }, /not whole|log is missing/],
  ["drops the first log", { name: "dropped logs", which: "first" }, /not whole/],
  ["drops a log", { name: "dropped logs", which: "middle" }, /not whole/],
  ["drops the last log", { name: "dropped logs", which: "last" }, /not whole/],
  [
    "drops the first transaction",
    { name: "dropped transaction", which: "first" },
    /not whole|log is missing/,
  ],
  [
    "drops a transaction",
    { name: "dropped transaction", which: "middle" },
    /not whole|log is missing/,
  ],
  [
    "drops the last transaction",
    { name: "dropped transaction", which: "last" },
    /not whole|log is missing/,
  ],
  ["cuts ranges in silence", { name: "silent limit", logs: 30 }, /not whole/],
  ["adds a foreign log", { name: "foreign log" }, /not whole/],
  ["marks logs as removed", { name: "removed logs" }, /marked as removed/],
  ["repeats logs", { name: "repeated logs" }, /not whole/],
  ["reverses logs", { name: "reversed logs" }, /never/],
  ["gives logs of another block", { name: "logs of another block" }, /not whole/],
  ["gives logs without time", { name: "logs without time" }, /never/],
]);

// Nodes that lie about blocks: their height, their headers, their chain.
import { describeLies } from "./lies.ts";

describeLies([
  ["is behind", { name: "behind", blocks: 4 }, /does not have block|unknown block/],
  [
    "is behind with logs",
    { name: "behind", blocks: 15, methods: ["eth_getLogs"] },
    /not whole|unknown block|log is missing/,
  ],
  [
    "is behind with blocks",
    { name: "behind", blocks: 4, methods: ["eth_getBlockByNumber"] },
    /does not have block/,
  ],
  ["tells an old height", { name: "old height", blocks: 4 }, /never/],
  ["tells another chain's id", { name: "other chain", chainId: 5 }, /chain/],
  [
    "gives wrong hashes",
    { name: "wrong hash" },
    /the parent of|when asked again|follow|is 0x|cannot be found/,
  ],
  ["gives wrong parents", { name: "wrong parent" }, /the parent of|does not follow/],
  ["does not have blocks", { name: "no block" }, /not have block/],
  ["empties blooms", { name: "wrong bloom", bloom: "empty" }, /never/],
  ["fills blooms", { name: "wrong bloom", bloom: "full" }, /not whole/],
]);

// `npm run prove -- figures`: plays random histories, by default 100,000, and writes the result to proved.md.
import { history, playAndCompare } from "./histories.ts";
import { prove } from "./proving.ts";

await prove({
  command: "npm run prove -- figures",
  does: "Plays random histories, and compares every figure with a computation by brute force.",
  histories: 100_000,
  history,
  play: playAndCompare,
  result: "test/proved.md",
  compared: (times) =>
    `all figures of all markets compared ${times} times with a computation by brute force.`,
});

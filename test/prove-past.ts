// `npm run prove -- past`: plays random histories, by default 10,000, and writes the result to proved-past.md.
// First, because PostGraphile reads the environment when it is loaded.
import "../graphql/production.ts";
import { pastHistory, playAndComparePast } from "./past.ts";
import { prove } from "./proving.ts";

await prove({
  command: "npm run prove -- past",
  does: "Plays random histories, and compares what is published as of each of their blocks, mostly 20, with a computation by brute force, and GraphQL's answers with those after later blocks are taken back.",
  histories: 10_000,
  history: pastHistory(20),
  play: (client, _stranger, history) =>
    playAndComparePast(client, history, { isWithGraphql: true }),
  result: "test/proved-past.md",
  compared: (times) =>
    `all figures, books and candles as of ${times} of their blocks compared with a computation by brute force, and GraphQL's answers with those after later blocks were taken back.`,
});

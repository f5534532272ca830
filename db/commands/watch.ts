// npm run db:watch: applies the current migration to the database at every save.
import { parseArgs } from "node:util";
import { ownerUrl } from "../locate.ts";
import { watchCurrent } from "../watch/watch.ts";

try {
  const { values } = parseArgs({ options: { once: { type: "boolean", default: false } } });
  const url = await ownerUrl(process.env);
  const isApplied = await watchCurrent({ url, once: values.once, print: console.log });
  process.exitCode = isApplied ? 0 : 1;
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}

// `node test/faults/flood.ts NAME URL MS ADDRESS…`: plays a flood in a process of its own, and prints what came of it.
import { startFlood, type FloodName } from "./floods.ts";

const [name, url = "", forMs, ...addresses] = process.argv.slice(2);
const flood = startFlood(name as FloodName, url, { addresses, forMs: Number(forMs) });
await flood.played;
console.log(JSON.stringify(flood.tally));
// The connections stay until the service has been looked at.
process.on("SIGTERM", () => process.exit());
setInterval(() => undefined, 60_000);

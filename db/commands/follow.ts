// `npm run follow -- URL`: keeps the database at the head of another service.
import { abortOnSignals, readCommandLine, refuse } from "../command-line.ts";
import { errorText, missingSchema } from "../error-text.ts";
import { ownerUrl } from "../locate.ts";
import { follow, type FollowEvent } from "../mirror/follower.ts";
import { folderUrl } from "../mirror/origin.ts";

const USAGE = `Usage: npm run follow -- URL

Keeps the database at the head of the service at URL, such as https://other.example, from where it is: it reads the blocks
that are missing, checks their digests and writes them, also where the chain reorganises. It asks again while the service
cannot be reached, and ends where the service has other facts. docs/mirror.md describes it.

  --help  show this

The database is that of DATABASE_OWNER_URL, else of DATABASE_URL, else the embedded one that runs.`;

const { positionals } = readCommandLine({ usage: USAGE, options: {}, max: 1 });
const [origin = refuse("URL is missing")] = positionals;

let isAtHead = false;
const signal = abortOnSignals();

try {
  const { href } = folderUrl(origin);
  const url = await ownerUrl(process.env);
  console.log(`Following ${href}`);
  await follow({ url, origin: href, signal, onEvent: report });
} catch (error) {
  console.error(`follow: ${missingSchema(error) ?? errorText(error)}`);
  process.exitCode = 1;
}

/** A line where something changes: not one for each block. */
function report(event: FollowEvent): void {
  switch (event.event) {
    case "written":
      if (!event.isAtHead || !isAtHead) {
        console.log(`Block ${event.head}${event.isAtHead ? ", the head" : ""}`);
      }
      isAtHead = event.isAtHead;
      break;
    case "taken back":
      console.log(
        `Took back the blocks from ${event.to + 1} to ${event.from}, and wrote the origin's`,
      );
      break;
    case "waiting":
      console.log(`Waiting: ${event.reason}`);
      isAtHead = false;
      break;
    case "goes on":
      console.log("Going on");
  }
}

// Ends a start on a Node that cannot run TypeScript, with the reason. Plain JavaScript, so that any Node can.
import { exit, stderr, versions } from "node:process";

const MIN_MAJOR = 24;

if (Number.parseInt(versions.node, 10) < MIN_MAJOR) {
  stderr.write(
    `Node.js ${versions.node} cannot run the service: it needs ${MIN_MAJOR} or later. ` +
      "`npm ci` installs one on Linux, Windows and Intel Macs, unless it leaves out optional " +
      "dependencies (--omit=optional). Elsewhere, install it from nodejs.org.\n",
  );
  exit(1);
}

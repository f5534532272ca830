// Follows a market by many connections, in a process of its own, and reports when each got an event.
import { connect, type Socket } from "node:net";
import { frameOf, PING, PONG, UPGRADE } from "../../test/faults/raw-connection.ts";

/** What each connection follows: an event stream, or a subscription by graphql-ws. */
export type Followed = { path: string } | { query: string };

/** What the parent asks for; `open` is answered when all are open, and again when each has got its first event. */
export type Order = { open: number; url: string; followed: Followed } | { expect: string };

/** `at`: milliseconds since 1970, of each follower that got the expected text. */
export type Told = { opened: number } | { begun: number } | { at: number[] };

const PING_TEXT = PING.toString("latin1");

const sockets: Socket[] = [];
let begun = 0;
let wanted = Infinity;
let expected = "";
let at: number[] = [];

const now = (): number => performance.timeOrigin + performance.now();

/** Resolves when the server has accepted the connection. */
function open(host: string, port: number, followed: Followed): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host);
    const isSubscription = "query" in followed;
    let isAccepted = false;
    let hasBegun = false;
    const accept = (): void => {
      isAccepted = true;
      if (isSubscription) socket.write(subscribe(followed.query));
      resolve();
    };
    const begin = (): void => {
      hasBegun = true;
      begun += 1;
      tellBegun();
    };
    // The end of the text that came before: a chunk may end within the expected one.
    let before = "";
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      const seen = before + text;
      if (!isAccepted && (!isSubscription || seen.includes("connection_ack"))) accept();
      if (!hasBegun && (!isSubscription || seen.includes('"type":"next"'))) begin();
      if (isSubscription) {
        // A second pong for one ping does no harm.
        if (seen.includes(PING_TEXT)) socket.write(PONG);
        if (hasError(seen)) throw new Error(seen.slice(0, 1000));
      }
      if (expected !== "" && seen.includes(expected)) {
        before = "";
        at.push(now());
        if (at.length === sockets.length) tell();
      } else before = seen.slice(-40);
    });
    socket.on("error", reject);
    // The parent notices.
    socket.on("close", () => process.exit(1));
    socket.write(
      isSubscription ? UPGRADE : `GET ${followed.path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    );
    if (isSubscription) socket.write(frameOf('{"type":"connection_init"}'));
    sockets.push(socket);
  });
}

const hasError = (text: string): boolean =>
  text.includes('"errors":') || text.includes('"type":"error"');

const subscribe = (query: string): Buffer =>
  frameOf(JSON.stringify({ id: "1", type: "subscribe", payload: { query } }));

function tell(): void {
  expected = "";
  process.send?.({ at } satisfies Told);
  at = [];
}

function tellBegun(): void {
  if (begun === wanted) process.send?.({ begun } satisfies Told);
}

process.on("message", (order: Order) => {
  if ("expect" in order) expected = order.expect;
  else void openAll(order);
});

process.on("disconnect", () => process.exit());

const BATCH = 200;

async function openAll({
  open: count,
  url,
  followed,
}: Extract<Order, { open: number }>): Promise<void> {
  const { hostname, port } = new URL(url);
  while (sockets.length < count) {
    const batch = Math.min(BATCH, count - sockets.length);
    await Promise.all(Array.from({ length: batch }, () => open(hostname, Number(port), followed)));
  }
  process.send?.({ opened: sockets.length } satisfies Told);
  wanted = count;
  tellBegun();
}

// Clients of streams in the soak: some follow all through, some never read, some come and go, and one floods.
import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { SteadyFollowers, type SteadyTally } from "../market/live/steady-followers.ts";
import type { Truth } from "../market/live/live-truth.ts";
import { followStream } from "../stream-client.ts";
import { frameOf, UPGRADE } from "./raw-connection.ts";

const THAT_NEVER_READ = 5;
const THAT_COME_AND_GO = 2;
/** Another client than those that follow: each has its limits. */
const FLOODING = "127.0.0.2";
/** WebSockets opened at once: more than a client may have, so that some are refused. */
const FLOOD = 60;
/** The begin of a frame of 60,000 bytes of text. */
const ENDLESS = Buffer.concat([Buffer.from([0x01, 0xfe, 0xea, 0x60]), Buffer.alloc(20_000, "{")]);
const SUBSCRIBES = Buffer.concat([
  frameOf('{"type":"connection_init"}'),
  ...Array.from({ length: 100 }, (_, id) =>
    frameOf(
      `{"id":"${id}","type":"subscribe","payload":{"query":"subscription { dexHead { cursor } }"}}`,
    ),
  ),
]);

export interface FollowersTally extends SteadyTally {
  /** Streams that clients closed at once. */
  closed: number;
  /** WebSockets that a flood opened, or that were refused. */
  flooded: number;
  refused: number;
}

export class SoakFollowers {
  readonly #others = { closed: 0, flooded: 0, refused: 0 };
  readonly #url: string;
  readonly #onError: (line: string) => void;
  readonly #followers: SteadyFollowers;
  #sockets: Socket[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #isOver = false;

  /** Gets what no fault explains. */
  constructor(url: string, onError: (line: string) => void) {
    this.#url = url;
    this.#onError = onError;
    this.#followers = new SteadyFollowers(url, {
      tolerates: () => false,
      patienceMs: 60_000,
    });
  }

  get tally(): FollowersTally {
    return { ...this.#followers.tally, ...this.#others };
  }

  start(): void {
    this.#followers.start();
    this.#running = Promise.all([
      ...Array.from({ length: THAT_NEVER_READ }, () => this.#untilOver(() => this.#neverRead())),
      ...Array.from({ length: THAT_COME_AND_GO }, () => this.#untilOver(() => this.#comeAndGo())),
      this.#untilOver(() => this.#flood()),
    ]);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([this.#running, this.#followers.stop()]);
    for (const error of this.#followers.errors.splice(0)) this.#onError(`follower: ${error}`);
  }

  /** Resumes each that has followed, and gives what its copy has other than the tables, which nobody writes to. */
  async differences(truth: Truth): Promise<string[]> {
    this.#followers.start();
    const found = await this.#followers.differences(truth);
    await this.stop();
    return found;
  }

  async #untilOver(act: () => Promise<void>): Promise<void> {
    while (!this.#isOver) {
      try {
        await act();
      } catch (error) {
        this.#onError(`stream: ${String(error)}`);
      }
      await sleep(20);
    }
  }

  /** Until the service ends the stream. */
  async #neverRead(): Promise<void> {
    const { hostname, port } = new URL(this.#url);
    const socket = connectSocket(Number(port), hostname);
    this.#sockets.push(socket);
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(
      "GET /v2/stream?topics=head,book:WETH/DAI:1000,summary:* HTTP/1.1\r\nHost: soak\r\n\r\n",
    );
    await once(socket, "close");
  }

  /** Each sends subscriptions and a message without an end, also where it was refused, and is closed without a word. */
  async #flood(): Promise<void> {
    const { hostname, port } = new URL(this.#url);
    const answered: Promise<void>[] = [];
    const sockets = Array.from({ length: FLOOD }, () => {
      // It sends on where it was refused.
      const socket = connectSocket({
        ...{ port: Number(port), host: hostname, localAddress: FLOODING },
        allowHalfOpen: true,
      });
      this.#sockets.push(socket);
      socket.on("error", () => undefined).write(UPGRADE);
      answered.push(
        new Promise((resolve) => {
          socket.once("close", () => resolve());
          socket.once("data", (answer: Buffer) => {
            if (!answer.toString("latin1").startsWith("HTTP/1.1 101")) this.#others.refused += 1;
            socket.resume();
            resolve();
          });
        }),
      );
      return socket;
    });
    // However long a slow machine takes: the refused are counted.
    await Promise.all(answered);
    for (const socket of sockets) socket.write(Buffer.concat([SUBSCRIBES, ENDLESS]));
    await sleep(200);
    for (const socket of sockets) socket.destroy();
    this.#others.flooded += sockets.length;
    this.#sockets = this.#sockets.filter(({ destroyed }) => !destroyed);
    await sleep(500);
  }

  async #comeAndGo(): Promise<void> {
    const client = await followStream(`${this.#url}/v2/stream?topics=head,market:*`);
    this.#others.closed += 1;
    if (this.#others.closed % 2 === 0) await client.next();
    client.close();
  }
}

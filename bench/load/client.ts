// The load generator: so many keep-alive connections, each asking again once it is answered.
//
// Of the benchmark's own, since what it measures beside it on the same cores answers up to tens of
// thousands of requests a second: a general HTTP client would be most of what is measured.
import { connect, type Socket } from "node:net";
import { AnswerReader, wireBytes, type Answer, type BenchRequest } from "./request.ts";

export interface Load {
  connections: number;
  seconds: number;
}

export interface Burst {
  /** Answers a second. */
  rate: number;
  /** Milliseconds from a request to the end of its answer. */
  latencies: number[];
}

/** Asks again and again; throws where an answer is not 200 or a connection is lost. */
export async function askFor(url: string, request: BenchRequest, load: Load): Promise<Burst> {
  const bytes = wireBytes(request);
  const latencies: number[] = [];
  const sockets = await Promise.all(
    Array.from({ length: load.connections }, () => openSocket(url)),
  );
  const started = performance.now();
  const until = started + load.seconds * 1000;
  try {
    await Promise.all(sockets.map((socket) => keepAsking(socket, bytes, until, latencies)));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  return { rate: (latencies.length * 1000) / (performance.now() - started), latencies };
}

/** One answer, whatever its status. */
export async function askOnce(url: string, request: BenchRequest): Promise<Answer> {
  const socket = await openSocket(url);
  try {
    return await new Promise<Answer>((resolve, reject) => {
      const reader = new AnswerReader();
      socket.on("data", (piece: Buffer) => {
        try {
          const answer = reader.add(piece);
          if (answer !== undefined) resolve(answer);
        } catch (error) {
          reject(asError(error));
        }
      });
      socket.once("error", reject);
      socket.once("close", () => reject(new Error(`${url} closed before it answered`)));
      socket.write(wireBytes(request));
    });
  } finally {
    socket.destroy();
  }
}

function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
    socket.once("error", reject);
  });
}

function keepAsking(
  socket: Socket,
  bytes: Buffer,
  until: number,
  latencies: number[],
): Promise<void> {
  return new Promise((resolve, reject) => {
    const reader = new AnswerReader();
    let asked = performance.now();
    socket.on("data", (piece: Buffer) => {
      try {
        const answer = reader.add(piece);
        if (answer === undefined) return;
        if (answer.status !== 200)
          throw new Error(`status ${answer.status}: ${String(answer.body)}`);
        const now = performance.now();
        latencies.push(now - asked);
        if (now >= until) {
          resolve();
          return;
        }
        asked = now;
        socket.write(bytes);
      } catch (error) {
        reject(asError(error));
      }
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the server closed a connection under load")));
    socket.write(bytes);
  });
}

const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));

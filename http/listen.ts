// Listens, and stops after the answers in flight.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { answerOn } from "./connections.ts";

/** How long a stop waits for the answers in flight, in all. */
const GRACE_MS = 10_000;

/** How often a stop closes idle connections. */
const SWEEP_MS = 50;

export interface Address {
  host: string;
  port: number;
  /** Which setting gives the port. Default: PORT. */
  setting?: string;
  /** Whether other processes may listen on it too; the system spreads the connections. */
  reusePort?: boolean;
}

/** Resolves to the URL. On failure throws a message that names the settings. */
export function listen(server: Server, address: Address): Promise<string> {
  const { host, port, reusePort = false } = address;
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(new Error(cannotListen(error, address), { cause: error }));
    server.once("error", fail);
    // 2,000 connections at once overflow Node's default of 511, and then wait for seconds.
    server.listen({ port, host, backlog: 4096, reusePort }, () => {
      server.off("error", fail);
      resolve(urlOf(server));
    });
  });
}

function cannotListen(
  { code, message }: NodeJS.ErrnoException,
  { host, port, setting = "PORT", reusePort = false }: Address,
): string {
  const at = `${setting} ${port}`;
  if (code === "EADDRINUSE") {
    const alone = reusePort ? " by a process without REUSE_PORT=1, or of another user" : "";
    return `${at} of ${host} is in use${alone}. Give another ${setting}, or 0 for any that is free.`;
  }
  if (code === "ENOTSUP" && reusePort) {
    return "REUSE_PORT=1 is not supported by this system: Linux, FreeBSD, Solaris and AIX have it. Give each process a separate PORT.";
  }
  if (code === "EACCES") return `${at} is not for this user. Give one above 1023.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `HOST ${host} is no address of this machine.`;
  }
  return `HOST ${host}, ${at} cannot be listened on: ${message}`;
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  const everywhere = address.address === "0.0.0.0" || address.address === "::";
  const shown = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${everywhere ? "localhost" : shown}:${address.port}`;
}

export interface Stop {
  /** First, while the server still listens and keeps idle connections. */
  leave: () => Promise<void>;
  close: () => Promise<void>;
}

export type FinishAnswers = (stop: Stop, hurry: AbortSignal) => Promise<void>;

/**
 * For a server that does not listen yet. The result announces with each answer that its connection is closed, closes those that are
 * idle, and all of them after a while or on `hurry`; `close` waits for that.
 */
export function finishAnswersOf(server: Server): FinishAnswers {
  // Node's own list lacks connections that were upgraded, for which its close waits too.
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  const abandon = (): void => {
    for (const socket of open) socket.destroy();
  };

  return async ({ leave, close }, hurry) => {
    const giveUp = setTimeout(abandon, GRACE_MS);
    // Else a client would send the next request on a connection that is just being closed.
    for (const event of ["request", "checkContinue", "checkExpectation"]) {
      server.prependListener(event, (_req: IncomingMessage, res: ServerResponse) => {
        res.shouldKeepAlive = false;
      });
    }
    for (const socket of open) {
      const answer = answerOn(socket);
      if (answer !== undefined) answer.shouldKeepAlive = false;
    }
    const hurried = new Promise<void>((resolve) => {
      const giveUpNow = (): void => {
        abandon();
        resolve();
      };
      hurry.addEventListener("abort", giveUpNow, { once: true });
    });
    await Promise.race([leave(), hurried]);
    const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
    try {
      await close();
    } finally {
      clearInterval(sweep);
      clearTimeout(giveUp);
    }
  };
}

/** Resolves when it has no connection any more. */
export async function stopListening(server: Server): Promise<void> {
  if (!server.listening) return;
  await new Promise((resolve) => server.close(resolve));
}

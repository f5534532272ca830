// Listens, and stops after the answers in flight.
import type { Server } from "node:http";

/** How long a stop waits for the answers in flight. */
const GRACE_MS = 10_000;

/** How often a stop closes idle connections. */
const SWEEP_MS = 50;

/** Resolves to the URL. On failure throws a message that names the port setting. */
export function listen(
  server: Server,
  host: string,
  port: number,
  setting = "PORT",
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(new Error(cannotListen(error, host, `${setting} ${port}`), { cause: error }));
    server.once("error", fail);
    // 2,000 connections at once overflow Node's default of 511, and then wait for seconds.
    server.listen({ port, host, backlog: 4096 }, () => {
      server.off("error", fail);
      resolve(urlOf(server));
    });
  });
}

function cannotListen({ code, message }: NodeJS.ErrnoException, host: string, port: string) {
  if (code === "EADDRINUSE") {
    const [setting] = port.split(" ");
    return `${port} of ${host} is in use. Give another ${setting ?? ""}, or 0 for any that is free.`;
  }
  if (code === "EACCES") return `${port} is not for this user. Give one above 1023.`;
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return `HOST ${host} is no address of this machine.`;
  }
  return `HOST ${host}, ${port} cannot be listened on: ${message}`;
}

function urlOf(server: Server): string {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  const everywhere = address.address === "0.0.0.0" || address.address === "::";
  const shown = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return `http://${everywhere ? "localhost" : shown}:${address.port}`;
}

/** Closes each connection when it is idle, all of them after a while or on `hurry`; `close` waits for that. */
export async function finishAnswers(
  server: Server,
  close: () => Promise<void>,
  hurry: AbortSignal,
): Promise<void> {
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const giveUp = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  hurry.addEventListener("abort", () => server.closeAllConnections(), { once: true });
  try {
    await close();
  } finally {
    clearInterval(sweep);
    clearTimeout(giveUp);
  }
}

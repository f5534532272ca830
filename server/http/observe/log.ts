// The log: a line for each request, each fault, and what the service has to say; JSON, or on a
// terminal for eyes.
import { destination, pino, type Logger } from "pino";
import type { Observation } from "./observation.ts";
import { Lines } from "./lines.ts";
import { levelOf, requestLine } from "./request-line.ts";

/** How much is logged, from nothing to everything. */
export const LOG_LEVELS = ["silent", "fatal", "error", "warn", "info", "debug", "trace"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  level: LogLevel;
  /** The file descriptor that it is written to. */
  fd: number;
  /** Whether somebody reads it there on a terminal. */
  isTerminal: boolean;
}

export interface Log {
  /** Says something to the operator. */
  info: (message: string) => void;
  warn: (message: string) => void;
  /** Tells of a fault whole, under the request that it befell. */
  error: (error: unknown, requestId?: string) => void;
  /** The line of a request that is over. */
  request: (observation: Observation) => void;
  /** How many lines were dropped since nobody took them. */
  dropped: () => number;
  /** Writes what has waited, and returns when it is out. */
  flush: () => void;
}

/** What waits for a reader who does not take it takes no more memory than this, in bytes. */
const MOST_WAITING_BYTES = 16 * 1024 * 1024;

/** Opens the log. Whatever has waited is written when the process exits, by whatever way. */
export async function openLog({ level, fd, isTerminal }: LogOptions): Promise<Log> {
  return isTerminal ? onTerminal(level, fd) : asJson(level, fd);
}

function asJson(level: LogLevel, fd: number): Log {
  // A reader who is slow must not hold up the service: it is written behind the scenes.
  const sink = destination({ dest: fd, sync: false, maxLength: MOST_WAITING_BYTES });
  let dropped = 0;
  sink.on("drop", (lines: string) => (dropped += lines.split("\n").length - 1));
  const lines = new Lines(sink);
  const flush = (): void => lines.flush();
  process.once("exit", flush);
  // Which process and host it is, whoever collects the lines knows.
  const logger = pino({ level, base: null }, lines);
  return { ...speak(logger, (over) => lines.writeRequest(over)), dropped: () => dropped, flush };
}

async function onTerminal(level: LogLevel, fd: number): Promise<Log> {
  // Loaded where it is used: it takes a tenth of the start.
  const { default: pretty } = await import("pino-pretty");
  const stream = pretty({
    destination: fd,
    sync: true,
    translateTime: "SYS:HH:MM:ss",
    ignore: "requestId,method,route,operation,errors,status,ms,cache,answeredAs,isAborted",
    messageFormat: (line, messageKey) => asText(line, line[messageKey]),
  });
  const logger = pino({ level, base: null }, stream);
  const writeRequest = (over: Observation): unknown => stream.write(requestLine(over));
  return { ...speak(logger, writeRequest), dropped: () => 0, flush: () => undefined };
}

function speak(
  logger: Logger,
  writeRequest: (observation: Observation) => void,
): Pick<Log, "info" | "warn" | "error" | "request"> {
  return {
    info: (message) => logger.info(message),
    warn: (message) => logger.warn(message),
    error: (error, requestId) => logger.error({ requestId, err: error }),
    request: (observation) => {
      if (logger.isLevelEnabled(levelOf(observation))) writeRequest(observation);
    },
  };
}

/** A line for eyes: what a request was, or the message with the request that it is about. */
function asText(line: Record<string, unknown>, message: unknown): string {
  const { requestId, method, route, operation, status, ms, cache, isAborted } = line;
  const words =
    message === "request"
      ? [method, route ?? "-", operation, status, `${String(ms)} ms`, cache, isAborted && "aborted"]
      : [message];
  return [...words, requestId].filter(Boolean).map(String).join(" ");
}

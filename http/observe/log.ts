// The log: JSON lines, or readable lines on a terminal.
import { destination, pino, type DestinationStream } from "pino";
import type { RequestState } from "../request.ts";

const levels = pino.levels.values;

export const LOG_LEVELS = ["silent", "fatal", "error", "warn", "info", "debug", "trace"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  level: LogLevel;
  /** The file descriptor that it is written to. */
  fd: number;
  isTerminal: boolean;
}

export interface Log {
  info: (message: string) => void;
  warn: (message: string) => void;
  /** Logs an error with its stack and causes, under the request that it failed. */
  error: (error: unknown, requestId?: string) => void;
  /** Logs a request that is over. */
  request: (state: RequestState) => void;
  /** How many lines were dropped because their reader was too slow. */
  dropped: () => number;
  /** Writes the buffered lines, and returns when they are out. */
  flush: () => void;
}

/** Lines are dropped beyond this, so that a reader who has stopped does not fill the memory. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;

/** Batch size in characters: a write for each line takes longer than an answer from memory. */
const BATCH = 32_768;
const LONGEST_WAIT_MS = 100;

export async function openLog({ level, fd, isTerminal }: LogOptions): Promise<Log> {
  return isTerminal ? onTerminal(level, fd) : asJson(level, fd);
}

function asJson(level: LogLevel, fd: number): Log {
  // Asynchronous, since a slow reader must not hold up the service.
  const sink = destination({ dest: fd, sync: false, maxLength: MAX_BUFFERED_BYTES });
  let dropped = 0;
  sink.on("drop", (lines: string) => (dropped += lines.split("\n").length - 1));
  let batch = "";
  let timer: NodeJS.Timeout | undefined;
  const pass = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (batch !== "") sink.write(batch);
    batch = "";
  };
  const write = (line: string): void => {
    batch += line;
    if (batch.length >= BATCH) pass();
    else timer ??= setTimeout(pass, LONGEST_WAIT_MS);
  };
  const flush = (): void => {
    pass();
    sink.flushSync();
  };
  process.once("exit", flush);
  return { ...speak(level, { write }), dropped: () => dropped, flush };
}

async function onTerminal(level: LogLevel, fd: number): Promise<Log> {
  // Loaded here, since it takes a tenth of the start.
  const { default: pretty } = await import("pino-pretty");
  const stream = pretty({
    destination: fd,
    sync: true,
    translateTime: "SYS:HH:MM:ss",
    ignore:
      "requestId,method,route,operation,errors,status,ms,cache,answeredAs,isAborted,trace_id,span_id",
    messageFormat: (line, messageKey) => asText(line, line[messageKey]),
  });
  return { ...speak(level, stream), dropped: () => 0, flush: () => undefined };
}

function speak(
  level: LogLevel,
  stream: DestinationStream,
): Pick<Log, "info" | "warn" | "error" | "request"> {
  // Whoever collects the lines knows the process and the host.
  const logger = pino({ level, base: null }, stream);
  return {
    info: (message) => logger.info(message),
    warn: (message) => logger.warn(message),
    error: (error, requestId) => logger.error({ requestId, err: error }),
    request: (state) => {
      // A failure of the service is a warning.
      const its = state.status >= 500 ? "warn" : "info";
      if (logger.isLevelEnabled(its)) stream.write(requestLine(state, levels[its]));
    },
  };
}

// With pino itself an answer from memory takes a sixth more processor time.
function requestLine(state: RequestState, level: number | undefined): string {
  const { id: requestId, method, route, operation, errors, status, cache } = state;
  const line = {
    level,
    time: Date.now(),
    requestId,
    method,
    route,
    operation,
    errors,
    status,
    cache,
    ms: Math.round(state.ms * 1000) / 1000,
    answeredAs: state.answeredAs,
    // OpenTelemetry's names.
    trace_id: state.trace?.traceId,
    span_id: state.trace?.spanId,
    isAborted: state.isAborted || undefined,
    msg: "request",
  };
  return `${JSON.stringify(line)}\n`;
}

/** A readable line: a request in words, or the message with the id of its request. */
function asText(line: Record<string, unknown>, message: unknown): string {
  const { requestId, method, route, operation, status, ms, cache, isAborted } = line;
  const words =
    message === "request"
      ? [method, route ?? "-", operation, status, `${String(ms)} ms`, cache, isAborted && "aborted"]
      : [message];
  return [...words, requestId].filter(Boolean).map(String).join(" ");
}

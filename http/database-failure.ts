// The 503 that a client gets for each kind of failure of the database.
import { failureOf, type Failure } from "../db/failure.ts";
import {
  DataLocked,
  DatabaseNotReady,
  DatabaseReplaced,
  DatabaseUnreachable,
  FiguresOutdated,
  ServiceBusy,
  TookTooLong,
  type ClientFacingError,
} from "./errors.ts";

const ERRORS: Record<Failure, new (message: string) => ClientFacingError> = {
  busy: ServiceBusy,
  locked: DataLocked,
  outdated: FiguresOutdated,
  replaced: DatabaseReplaced,
  schema: DatabaseNotReady,
  timeout: TookTooLong,
  unreachable: DatabaseUnreachable,
};

/** The 503 of an error of the database or its pool; undefined for other errors. */
export function databaseFailure(error: unknown): ClientFacingError | undefined {
  const failure = failureOf(error);
  if (failure === undefined) return undefined;
  return new ERRORS[failure](error instanceof Error ? error.message : "");
}

// One endpoint of a version: parse and ask, shape, wrap.
import type { Request, Router } from "express";
import { performance } from "node:perf_hooks";
import { observationOf } from "../server/observe/observation.ts";
import { readOnlyRoute } from "../server/read-only-route.ts";
import { answer } from "./answer.ts";
import type { Envelope } from "./envelope.ts";
import type { LastHead } from "./last-head.ts";
import type { Snapshot } from "./queries/snapshot.ts";

/** Adds an endpoint that asks by `find` and shapes what was found by `shape`. */
export type AddEndpoint = <Row>(
  path: string,
  find: (req: Request) => Promise<Snapshot<Row>>,
  shape: (rows: Row[]) => object,
) => void;

/** What adds the endpoints of one version to its router. */
export function endpointsOf(router: Router, envelope: Envelope, head: LastHead): AddEndpoint {
  return (path, find, shape) => {
    readOnlyRoute(router, path, async (req, res) => {
      const { rows, time } = await timed(req, head.see(find(req)));
      await answer(req, res, envelope.success(shape(rows), time));
    });
  };
}

/** Notes how long the request waits for the database. */
async function timed<T>(req: Request, asked: Promise<T>): Promise<T> {
  const since = performance.now();
  try {
    return await asked;
  } finally {
    const observation = observationOf(req);
    if (observation !== undefined) observation.databaseMs = performance.now() - since;
  }
}

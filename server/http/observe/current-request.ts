// The request that the running code is for, so that an error is logged under its id.
import { AsyncLocalStorage } from "node:async_hooks";
import type { RequestListener } from "node:http";
import { observationOf, type Observation } from "./observation.ts";

const current = new AsyncLocalStorage<Observation | undefined>();

/** A listener with each request as the current one of everything that it does. */
export const asCurrentRequest =
  (next: RequestListener): RequestListener =>
  (req, res) =>
    current.run(observationOf(req), next, req, res);

/** Undefined for code that runs for no request. */
export const currentRequest = (): Observation | undefined => current.getStore();

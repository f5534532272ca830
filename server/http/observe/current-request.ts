// Which request the code that runs just now is for, so that an error is logged under its id.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Service } from "../cache/captured-response.ts";
import { observationOf, type Observation } from "./observation.ts";

const current = new AsyncLocalStorage<Observation | undefined>();

/** The service, with each request as the current one of all that is done for it. */
export const asCurrentRequest =
  (service: Service): Service =>
  (req, res, next) =>
    current.run(observationOf(req), service, req, res, next);

/** The request that this is done for; undefined for what is done for none, or for several. */
export const currentRequest = (): Observation | undefined => current.getStore();

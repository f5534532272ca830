// Lets the observation of a request know which of the service's paths was asked.
import type { RequestHandler } from "express";
import { observationOf } from "./observation.ts";

/** An Express middleware of that path, whose pattern this is below its router. */
export const noteRoute =
  (pattern: string): RequestHandler =>
  (req, _res, next) => {
    const observation = observationOf(req);
    if (observation !== undefined) observation.route = req.baseUrl + pattern;
    next();
  };

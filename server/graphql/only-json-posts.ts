// Rejects every request that is not a POST of JSON.
import type { NextFunction, Request, Response } from "express";
import { MethodNotAllowed, UnsupportedMediaType } from "../http/errors.ts";

const JSON_TYPE = "application/json";

/** A web page can send text and forms to any host without a CORS preflight, but not JSON. */
export function onlyJsonPosts(req: Request, _res: Response, next: NextFunction): void {
  if (req.method !== "POST") throw new MethodNotAllowed(req.method, "POST, OPTIONS");
  const type = mediaType(req);
  if (type !== JSON_TYPE) {
    const given = type === "" ? "none was given" : `not ${JSON.stringify(type)}`;
    throw new UnsupportedMediaType(`The Content-Type must be ${JSON_TYPE}, ${given}`, {
      Accept: JSON_TYPE,
    });
  }
  const encoding = req.get("Content-Encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw new UnsupportedMediaType("The body must not be compressed", {
      "Accept-Encoding": "identity",
    });
  }
  // PostGraphile compares the media type with its case.
  req.headers["content-type"] = JSON_TYPE;
  next();
}

function mediaType(req: Request): string {
  const [type = ""] = (req.get("Content-Type") ?? "").split(";", 1);
  return type.trim().toLowerCase();
}

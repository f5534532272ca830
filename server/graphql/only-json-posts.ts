// Refuses what is no POST of JSON, which is all that GraphQL takes.
import type { NextFunction, Request, Response } from "express";

const JSON_TYPE = "application/json";
const METHODS = "POST, OPTIONS";

/**
 * Refuses another method by 405, and another kind of body by 415, as GraphQL's errors are told. A web
 * page can send text and forms to any host without asking it first; JSON it cannot.
 */
export function onlyJsonPosts(req: Request, res: Response, next: NextFunction): void {
  if (req.method !== "POST") {
    res.set("Allow", METHODS);
    refuse(res, 405, "METHOD_NOT_ALLOWED", `${req.method} is not allowed here, only ${METHODS}`);
    return;
  }
  const type = mediaType(req);
  if (type !== JSON_TYPE) {
    res.set("Accept", JSON_TYPE);
    const given = type === "" ? "none was given" : `not ${JSON.stringify(type)}`;
    refuse(res, 415, "UNSUPPORTED_MEDIA_TYPE", `The Content-Type must be ${JSON_TYPE}, ${given}`);
    return;
  }
  const encoding = req.get("Content-Encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    res.set("Accept-Encoding", "identity");
    refuse(res, 415, "UNSUPPORTED_MEDIA_TYPE", "The body must not be compressed");
    return;
  }
  // In the letters that PostGraphile looks for.
  req.headers["content-type"] = JSON_TYPE;
  next();
}

function mediaType(req: Request): string {
  const [type = ""] = (req.get("Content-Type") ?? "").split(";", 1);
  return type.trim().toLowerCase();
}

function refuse(res: Response, status: number, code: string, message: string): void {
  res
    .status(status)
    .set("Cache-Control", "no-store")
    .json({ errors: [{ message, extensions: { code } }] });
}

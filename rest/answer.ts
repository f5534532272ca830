// Sends an envelope.
import type { Request, Response } from "express";
import { answerTagged, gzip, tagOf } from "../server/http/etag-answer.ts";

// Figures stand until the head moves, which is every few seconds at most: a cache in front may
// answer a burst of the same request, and nobody sees a figure more than a second late.
export const CACHE_CONTROL = "public, max-age=1";

/** Sends a successful answer, or 304 when the client has it. */
export function answer(req: Request, res: Response, envelope: object): Promise<void> | undefined {
  const plain = JSON.stringify(envelope);
  return answerTagged(req, res, {
    type: "application/json; charset=utf-8",
    cacheControl: CACHE_CONTROL,
    plain,
    tag: tagOf(plain),
    compressed: () => gzip(plain),
  });
}

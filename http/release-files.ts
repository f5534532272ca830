// Serves what changes with a release only: each is made once for each encoding, whatever its requests hold.
import type { Router } from "express";
import { encodingFor, keptAnswers, sendAnswer } from "./answer.ts";
import { readOnlyRoute } from "./paths.ts";

const CACHE_CONTROL = "public, max-age=300";

export interface ReleaseFile {
  /** Without its charset. */
  type: string;
  read: () => Promise<string | Buffer>;
  /** Headers in place of those of every answer. */
  fixed?: readonly string[];
}

const answerOf = keptAnswers(async ({ type, read, fixed }: ReleaseFile) => ({
  ...{ type: `${type}; charset=utf-8`, cacheControl: CACHE_CONTROL, plain: await read() },
  ...(fixed && { fixed }),
}));

export function serveReleaseFile(router: Router, path: string, file: ReleaseFile): void {
  readOnlyRoute(router, path, async (req, res) => {
    sendAnswer(req, res, await answerOf(file, encodingFor(req, "gzip")));
  });
}

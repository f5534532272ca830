// Serves what changes with a release only: each is made once for each encoding, whatever its requests hold.
import type { Router } from "express";
import { encodingFor, etagAnswer, sendAnswer, type Answer, type Encoding } from "./answer.ts";
import { readOnlyRoute } from "./paths.ts";

const CACHE_CONTROL = "public, max-age=300";

export interface ReleaseFile {
  /** Without its charset. */
  type: string;
  read: () => Promise<string | Buffer>;
  /** Headers in place of those of every answer. */
  fixed?: readonly string[];
}

export function serveReleaseFile(
  router: Router,
  path: string,
  { type, read, fixed }: ReleaseFile,
): void {
  const answers = new Map<Encoding, Promise<Answer>>();
  const make = async (encoding: Encoding): Promise<Answer> => {
    const content = {
      type: `${type}; charset=utf-8`,
      cacheControl: CACHE_CONTROL,
      plain: await read(),
      ...(fixed && { fixed }),
    };
    return etagAnswer(content, encoding);
  };
  const made = (encoding: Encoding): Promise<Answer> => {
    const answer = make(encoding);
    answers.set(encoding, answer);
    // The next request tries again, as after a moment without a free file descriptor.
    answer.catch(() => answers.delete(encoding));
    return answer;
  };
  readOnlyRoute(router, path, async (req, res) => {
    const encoding = encodingFor(req, "gzip");
    sendAnswer(req, res, await (answers.get(encoding) ?? made(encoding)));
  });
}

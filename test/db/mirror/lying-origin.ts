// A service in front of another one, which passes its answers on, or lies.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Gets the true answer; undefined where it passes that on, "answered" where it has answered by itself. */
export type Lie = (path: string, truth: Buffer, res: ServerResponse) => Buffer | string | undefined;

export interface LyingOrigin {
  url: string;
  lie: Lie;
  /** What happens before it gets the true answer. */
  before: (path: string) => unknown;
  close: () => Promise<void>;
}

/** Of these bytes, as a service gives it. */
export const contentDigest = (body: Buffer | string): string =>
  `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;

export async function makeLyingOrigin(truth: () => string): Promise<LyingOrigin> {
  const lying: LyingOrigin = {
    url: "",
    lie: () => undefined,
    before: () => undefined,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const path = req.url ?? "/";
    await lying.before(path);
    const asked = ["x-min-block", "range"].flatMap((name) => {
      const value = req.headers[name];
      return value === undefined ? [] : [[name, String(value)]];
    });
    const headers = { "Accept-Encoding": "identity", ...Object.fromEntries(asked) };
    const found = await fetch(truth() + path, { headers });
    const body = Buffer.from(await found.arrayBuffer());
    const told = lying.lie(path, body, res) ?? body;
    if (told === "answered") return;
    const range = found.headers.get("content-range");
    res
      .writeHead(found.status, {
        // A liar makes the digest of what it says.
        "Content-Digest": contentDigest(told),
        ...(range !== null && { "Content-Range": range }),
      })
      .end(told);
  };
  const server = createServer((req, res) => {
    answer(req, res).catch(() => res.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  lying.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return lying;
}

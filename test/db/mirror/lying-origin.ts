// A service in front of another one, which passes its answers on, or lies.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Gets the true answer; undefined where it passes that on. */
export type Lie = (path: string, truth: Buffer, res: ServerResponse) => Buffer | string | undefined;

export interface LyingOrigin {
  url: string;
  lie: Lie;
  close: () => Promise<void>;
}

export async function makeLyingOrigin(truth: () => string): Promise<LyingOrigin> {
  const lying = { lie: () => undefined } as unknown as LyingOrigin;
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const path = req.url ?? "/";
    const wait = req.headers["x-min-block"];
    const found = await fetch(`${truth()}${path}`, {
      headers: wait === undefined ? {} : { "X-Min-Block": String(wait) },
    });
    const body = Buffer.from(await found.arrayBuffer());
    const told = lying.lie(path, body, res);
    if (told === "answered") return;
    res.writeHead(found.status).end(told ?? body);
  };
  const server = createServer((req, res) => {
    answer(req, res).catch(() => res.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  lying.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  lying.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return lying;
}

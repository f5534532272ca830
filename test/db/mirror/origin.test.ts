// What is read of the answer of a mirrored service.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Origin } from "../../../db/mirror/origin.ts";
import { LONG, withClosingServer } from "../../closing-server.ts";

it.each([false, true])(
  "is all of it where the service closes the connection while it is read slowly (raw: %s)",
  async (isRaw) => {
    await withClosingServer(async (url) => {
      for (let n = 0; n < 5; n += 1) {
        let bytes = 0;
        await new Origin(url).read(
          "file",
          { isRaw },
          {
            onChunk: async (chunk) => {
              bytes += chunk.length;
              await sleep(1);
            },
          },
        );
        expect(bytes).toBe(LONG.length);
      }
    });
  },
);

it.each<[what: string, answer: (res: ServerResponse) => void]>([
  ["without headers", () => undefined],
  ["without a body", (res) => res.writeHead(200).flushHeaders()],
  [
    "of a byte now and then",
    (res) => {
      const dripping = setInterval(() => res.write("0"), 5);
      res.on("close", () => clearInterval(dripping));
    },
  ],
])("is not waited for for ever: an answer %s", async (_, answer) => {
  const server = createServer((_req, res) => answer(res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin = new Origin(`http://127.0.0.1:${port}`, { idleMs: 100 });
  await expect(origin.text("manifest.json", 1000)).rejects.toThrow(
    /manifest\.json does not answer: too little came in time$/,
  );
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it.each([
  ["0.001", 250],
  ["2", 2000],
  ["9999", 60_000],
  ["0", undefined],
  ["soon", undefined],
])(
  "that asks to be asked again after %s seconds is left alone for %s ms",
  async (after, retryMs) => {
    const server = createServer((_req, res) => res.writeHead(503, { "Retry-After": after }).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const asked = new Origin(`http://127.0.0.1:${port}`).text("manifest.json", 1000);
    await expect(asked).rejects.toMatchObject({ status: 503, retryMs });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  },
);

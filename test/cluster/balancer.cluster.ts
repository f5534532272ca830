// What the deployed HAProxy does with a request that is under way when its service stops being ready.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Balancer } from "./balancer.ts";
import { describeUnless, MISSING } from "./programs.ts";

type Ready = "ready" | "not ready" | "silent";

/** Services whose requests are handled one way, and which say of themselves what they are set to. */
class Services {
  readonly states: Ready[] = ["ready", "ready", "ready"];
  readonly #servers: Server[] = [];

  async start(handle: (n: number) => RequestListener): Promise<number[]> {
    for (const n of this.states.keys()) {
      const server = createServer((req, res) => {
        const state = this.states[n];
        if (req.url === "/health") res.end();
        else if (req.url !== "/ready") handle(n)(req, res);
        else if (state !== "silent") res.writeHead(state === "ready" ? 200 : 503).end();
      });
      this.#servers.push(server.listen(0, "127.0.0.1"));
      await once(server, "listening");
    }
    return this.#servers.map((server) => (server.address() as AddressInfo).port);
  }

  stop(): void {
    for (const server of this.#servers) server.close().closeAllConnections();
  }
}

describeUnless(MISSING, "a request that is under way at a service", () => {
  let folder: string;
  let services: Services;
  let balancer: Balancer;

  const start = async (handle: (n: number) => RequestListener): Promise<void> => {
    services = new Services();
    const ports = await services.start(handle);
    folder = await mkdtemp(join(tmpdir(), "dex-balancer-"));
    balancer = await Balancer.start(folder, { services: ports, writers: ports[0]! });
    await balancer.untilAllUp();
  };
  afterEach(async () => {
    await balancer.stop();
    services.stop();
    await rm(folder, { recursive: true });
  });

  it("is answered whole where the service says that it is not ready", async () => {
    await start((n) => async (_req, res) => {
      res.write("begun at a service, ");
      services.states[n] = "not ready";
      await balancer.untilDown(n);
      res.end("and ended there");
    });
    const answer = await fetch(balancer.url);
    expect([answer.status, await answer.text()]).toEqual([
      200,
      "begun at a service, and ended there",
    ]);
  });

  it("is asked of another where the service hangs", async () => {
    const hanging = new Set<number>();
    await start((n) => (_req, res) => {
      if (hanging.size === 0) hanging.add(n);
      if (hanging.has(n)) services.states[n] = "silent";
      else res.end("answered by another");
    });
    const answer = await fetch(balancer.url);
    expect([answer.status, await answer.text(), hanging.size]).toEqual([
      200,
      "answered by another",
      1,
    ]);
  });
});

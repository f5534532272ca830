// A copy of the embedded database's folder, made as docs/operations.md says, brings all of it back.
import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { openClient } from "../database.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { DataDirs, embeddedUrl, startService, type Service } from "../service.ts";

const dataDirs = new DataDirs();
let service: Service | undefined;
afterEach(async () => {
  service?.signal("SIGKILL");
  await service?.ended;
  await dataDirs.remove();
});

async function answers(url: string): Promise<string[]> {
  const query = "{ allDexMarkets { nodes { base quote } } dexHead { block time } }";
  const all = [
    await fetch(`${url}/v1/markets/`),
    await fetch(`${url}/v2/prices`),
    await fetch(`${url}/v2/trades/weth/dai`),
    await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ query }),
    }),
  ];
  return Promise.all(all.map(async (answer) => `${answer.status} ${await answer.text()}`));
}

it("answers from the copy as before, once the database itself is destroyed", async () => {
  const dataDir = await dataDirs.make();
  const env = { DATA_DIR: dataDir, SEED_TRADES: "0" };
  service = startService(env);
  await service.url;
  await using writer = await openClient(await embeddedUrl(dataDir));
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade({ id: 1 }), aTrade({ id: 2 })], head: 24 });
  const before = await answers(await service.url);
  service.signal("SIGTERM");
  expect((await service.ended).code).toBe(0);

  const copy = `${dataDir}-copy`;
  execFileSync("cp", ["-a", dataDir, copy]);
  await rm(dataDir, { recursive: true });
  execFileSync("cp", ["-a", copy, dataDir]);

  service = startService(env);
  const after = await answers(await service.url);
  service.signal("SIGTERM");
  expect((await service.ended).code).toBe(0);
  expect(before[0]).toMatch(/^200 .*WETH\/DAI/);
  expect(before[2]).toMatch(/^200 .*"id":2\b/);
  expect(before[3]).toContain('"dexHead":{"block":');
  expect(after).toEqual(before);
});

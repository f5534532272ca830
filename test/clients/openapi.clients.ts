// The clients that generators make from the OpenAPI document: their types are right, and they read what the service answers.
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { runShell } from "../service.ts";
import { serveDatabase } from "../served.ts";

const FOLDER = fileURLToPath(new URL("generators", import.meta.url));
const DOCUMENT = "../../../rest/openapi/openapi.json";

const { app } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade({ base: "2", quote: "250" })] });
});
beforeAll(async () => {
  await rm(`${FOLDER}/generated`, { recursive: true, force: true });
});

async function run(commands: string): Promise<string> {
  const { code, stdout, stderr } = await runShell(commands, {}, FOLDER).ended;
  expect({ code, output: code === 0 ? "" : stdout + stderr }).toEqual({ code: 0, output: "" });
  return stdout;
}

it("openapi-zod-client and openapi-typescript-codegen make clients that type-check and read the answers", async () => {
  await run(`
    mkdir generated
    node_modules/.bin/openapi-zod-client ${DOCUMENT} -o generated/zod.ts
    node_modules/.bin/openapi -i ${DOCUMENT} -o generated/codegen
  `);
  await run("../../../node_modules/.bin/tsc -p .");
  const printed = await run(`
    node_modules/.bin/esbuild ask.ts --bundle --platform=node --log-level=error --outfile=generated/ask.cjs
    node generated/ask.cjs ${app.url}
  `);

  const { zod, codegen } = JSON.parse(printed) as Record<string, Record<string, unknown>>;
  const answers = Object.fromEntries(
    await Promise.all(
      [
        ["markets", "/v1/markets"],
        ["prices", "/v2/prices"],
        ["trades", "/v2/trades/weth/dai"],
      ].map(async ([name, path]) => [name, (await app.request.get(path!)).body as unknown]),
    ),
  ) as Record<string, unknown>;
  expect(zod).toEqual(answers);
  expect(codegen).toEqual(answers);
});

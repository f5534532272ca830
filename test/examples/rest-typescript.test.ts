// The example of REST from TypeScript, as its user runs it.
import { aTrade, registerMarkets, write } from "../factories.ts";
import { runFile } from "../service.ts";
import { serveDatabase } from "../served.ts";

const { app } = serveDatabase(async (writer) => {
  await registerMarkets(writer);
  await write(writer, {
    trades: Array.from({ length: 230 }, (_, n) =>
      aTrade({ id: 3 * n + 1, base: "2", quote: "250" }),
    ),
  });
});

const run = (...args: string[]) =>
  runFile("examples/rest-typescript/trades.ts", {}, [app.url, ...args]).ended;

it("prints the prices, and every trade once, newest first", async () => {
  const { code, stdout, stderr } = await run("weth", "dai", "1000");

  const [prices, ...trades] = stdout.trim().split("\n");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  // 250 ÷ 2
  expect(prices).toBe("weth/dai at 2026-01-01T01:00:00.000Z: last 125, of the day 125");
  // Three pages: ids from 3 × 229 + 1 down to 1.
  expect(trades).toEqual(
    Array.from({ length: 230 }, (_, n) => `${688 - 3 * n} 2026-01-01T01:00:00.000Z 2 at 125`),
  );
});

it("prints as many trades as it is asked for", async () => {
  const { stdout } = await run("weth", "dai", "150");
  expect(stdout.trim().split("\n")).toHaveLength(1 + 150);
});

it("ends with what the service says of an unknown pair", async () => {
  const { code, stderr } = await run("dai", "weth");
  expect(code).toBe(1);
  expect(stderr).toContain("Error: Unknown pair");
});

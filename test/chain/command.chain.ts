// `npm run index` as a process: its arguments, its exit codes, and that it leaves the database whole.
import { makeDatabase, type TestDatabase } from "../database.ts";
import { runFile, type Service } from "../service.ts";
import { startChain, type TestChain } from "./chain.ts";
import type { Exchange } from "./exchange.ts";

let chain: TestChain;
let exchange: Exchange;
let database: TestDatabase;

beforeAll(async () => {
  chain = await startChain();
  exchange = await chain.deployExchange();
  database = await makeDatabase();
});
afterAll(async () => {
  await database.drop();
  await chain.stop();
});

const run = (args: string[]): Service =>
  runFile("chain/commands/index-chain.ts", { DATABASE_OWNER_URL: database.url }, args);

const right = (): string[] => [
  ...["--rpc", chain.url, "--exchange", exchange.address],
  ...["--from-block", "0", "--finality", "3"],
];

it("shows its options", async () => {
  const { code, stdout } = await run(["--help"]).ended;

  expect(code).toBe(0);
  expect(stdout).toContain("--from-block N");
});

it.each([
  [["--rpc", "nowhere"], "--rpc (or RPC_URL): what was given is not URLs"],
  [["--block", "3"], "Unknown option '--block'"],
  [["--metrics-port", "x"], '--metrics-port (or INDEX_METRICS_PORT): "x" is not an integer'],
  [["5"], "Unexpected argument '5'"],
  [["--verify", "9", "3"], "--verify takes two blocks"],
])("refuses %j", async (args, message) => {
  const { code, stderr } = await run([...right(), ...args]).ended;

  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

it("indexes until a signal, verifies, and stops at a deep reorganisation with code 3", async () => {
  const snapshot = await chain.snapshot();
  await chain.mine(10);
  const indexer = run([...right(), "--metrics-port", "0"]);
  await indexer.printed(/The head of the chain, block \d+, is written/);
  const [, address = ""] = /Metrics (\S+)\/metrics/.exec(indexer.output())!;
  expect(await (await fetch(`${address}/ready`)).json()).toEqual({ status: "ready" });
  expect(await (await fetch(`${address}/metrics`)).text()).toMatch(/^dex_chain_indexed_block 11$/m);
  indexer.signal("SIGTERM");
  expect((await indexer.ended).code).toBe(0);

  const verified = await run([...right(), "--verify", "0", "11"]).ended;
  expect(verified).toMatchObject({ code: 0, stderr: "" });
  expect(verified.stdout).toContain("Blocks 0 to 11 are in the database as on the chain");
  const beyond = await run([...right(), "--verify", "0", "12"]).ended;
  expect(beyond).toMatchObject({ code: 2, stdout: "" });
  expect(beyond.stderr).toContain("Block 12 is not on the chain yet: its head is block 11");

  await chain.revert(snapshot);
  await chain.mine(20);
  const { code, stderr } = await run(right()).ended;
  expect(code).toBe(3);
  expect(stderr).toMatch(/^The chain has another branch below block \d+, which is final/m);
});

it("says that the database lacks the schema", async () => {
  const empty = await makeDatabase({ migrated: false });
  const { code, stderr } = await runFile(
    "chain/commands/index-chain.ts",
    { DATABASE_OWNER_URL: empty.url },
    right(),
  ).ended;
  await empty.drop();

  expect(code).toBe(1);
  expect(stderr).toContain("run `npm run db:migrate`");
});

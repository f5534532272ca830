// The examples of GraphQL subscriptions, run as their users would, beside a writer: the connection is cut again
// and again, and a reorganisation comes, and each ends with exactly the trades of the table.
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { aTrade, blockAt, registerMarkets, write } from "../factories.ts";
import { useApp, useDatabase } from "../served.ts";
import { runFile, runScript, type Service } from "../service.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/graphql", import.meta.url));

const database = useDatabase();
const app = useApp(database);
let running: Service | undefined;

/** Stands between client and service. */
let line: Server;
const sockets = new Set<Socket>();

beforeAll(async () => {
  const { port } = new URL(app.url);
  line = createServer((client) => {
    const service = connect(Number(port), "127.0.0.1");
    for (const socket of [client, service]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    }
    client.pipe(service).pipe(client);
    client.on("close", () => service.destroy());
    service.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => line.listen(0, "127.0.0.1", resolve));
  const built = await runScript("build", { GRAPHQL_URL: `${app.url}/graphql` }, EXAMPLES).ended;
  if (built.code !== 0) throw new Error(built.stdout + built.stderr);
});
beforeEach(async () => {
  await database.empty();
  await registerMarkets(database.writer);
});
afterEach(async () => {
  running?.signal("SIGKILL");
  await running?.ended;
});
afterAll(() => line.close());

interface PrintedEvent {
  reset: string | null;
  lastThatStands?: string;
  trades: { id: string }[];
}

/** The ids of the trades that a reader of the output has, each as often as it came. */
function idsOf(output: string): string[] {
  let ids: string[] = [];
  for (const text of output.split("\n").slice(0, -1)) {
    const { reset, lastThatStands, trades } = JSON.parse(text) as PrintedEvent;
    if (reset !== null) throw new Error(`reset: ${reset}`);
    if (lastThatStands !== undefined) {
      ids = ids.filter((id) => BigInt(id) <= BigInt(lastThatStands));
    }
    ids.push(...trades.map(({ id }) => id));
  }
  return ids;
}

async function idsInTable(): Promise<string[]> {
  const { rows } = await database.owner.query<{ id: string }>(
    "select id from dex_trade order by id",
  );
  return rows.map(({ id }) => id);
}

it.each(["apollo/follow.ts", "urql/follow.ts"])(
  "%s survives cuts of its connection and a reorganisation",
  async (file) => {
    const { port } = line.address() as AddressInfo;
    const example = runFile(
      file,
      { GRAPHQL_URL: `http://127.0.0.1:${port}/graphql` },
      ["weth/dai"],
      EXAMPLES,
    );
    running = example;
    // Its first event has no trade: it has subscribed.
    await example.printed(/"trades":\[\]/);
    for (let hour = 1; hour <= 6; hour += 1) {
      const trades = Array.from({ length: 10 }, (_, idx) => aTrade({ hour, idx }));
      await write(database.writer, { trades });
      const last = (await idsInTable()).at(-1) ?? "";
      if (hour % 2 === 0) await example.printed(new RegExp(`"id":"${last}"`));
      for (const socket of sockets) socket.destroy();
      if (hour === 4) await database.writer.query("select ingest.take_back($1)", [blockAt(2)]);
    }
    const wanted = await idsInTable();
    await example.printed(new RegExp(`"id":"${wanted.at(-1) ?? ""}"`));
    expect(wanted).toHaveLength(40);
    while (sockets.size > 0 && !example.output().endsWith("\n")) await sleep(10);
    expect(idsOf(example.output())).toEqual(wanted);
  },
);

// Stages of the benchmark's data: an interrupted run goes on where it was, and does nothing twice.
import { prepareStages, runStage, type Stage } from "../../bench/data/stages.ts";
import { connect, type Client } from "../../db/connect.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await makeDatabase();
  await database.owner.query("create table made (stage text)");
});
beforeEach(() => database.owner.query("truncate made"));
afterAll(() => database.drop());

const makes = (name: string): Stage => ({
  name,
  run: async (client) => {
    await client.query("insert into made values ($1)", [name]);
  },
});

/** A stage in the middle of which the connection is ended, as by a kill. */
const isKilled = (name: string): Stage => ({
  name,
  run: async (client) => {
    await makes(name).run(client);
    await client.query("select pg_terminate_backend(pg_backend_pid())");
  },
});

/** Runs these stages one after the other, as the making of data does, and tells what it logs. */
async function make(stages: Stage[]): Promise<string[]> {
  const client: Client = await connect(database.url);
  client.on("error", () => undefined);
  const lines: string[] = [];
  try {
    await prepareStages(client);
    for (const stage of stages) await runStage(client, stage, (line) => lines.push(line));
  } finally {
    await client.end().catch(() => undefined);
  }
  return lines.map((line) => line.replace(/: .*/, "").trim());
}

const made = async (): Promise<string[]> => {
  const { rows } = await database.owner.query<{ stage: string }>("select stage from made");
  return rows.map(({ stage }) => stage);
};

it("a stage that was broken off leaves nothing, and the next run begins with it", async () => {
  await expect(make([makes("a"), isKilled("b"), makes("c")])).rejects.toThrow();
  expect(await made()).toEqual(["a"]);

  expect(await make([makes("a"), makes("b"), makes("c")])).toEqual(["b", "c"]);
  expect(await made()).toEqual(["a", "b", "c"]);
});

it("a stage outside a transaction that was broken off is run again", async () => {
  const alone = (stage: Stage): Stage => ({ ...stage, alone: true });
  await expect(make([alone(isKilled("d"))])).rejects.toThrow();

  expect(await make([alone(makes("d")), makes("e")])).toEqual(["d", "e"]);
  expect(await made()).toEqual(["d", "d", "e"]);
});

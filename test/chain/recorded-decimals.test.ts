// What is left of recorded orders is read by the decimals that the database has.
import { tempo } from "../../chain/exchanges/tempo.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { startIndexing, type Indexing } from "./indexing.ts";
import {
  chainOf,
  EXCHANGE,
  startInventedNode,
  type Act,
  type InventedNode,
} from "./invented-chain.ts";
import { BASE, created, filled, placed } from "./tempo-events.ts";

/** An order that wants this of its quote. That has fewer digits behind the point than what it sells. */
const BID = 9_900_010_000_000_010_000n;
const LOT = (BID * 100n) / 99n;
/** At 0.99 a take of this gives 0.990000990000000001: it is rounded up. */
const TAKEN = 1_000_001_000_000_000_001n;

let database: TestDatabase;
let node: InventedNode;
let acts: Act[][];

beforeEach(async () => {
  database = await makeDatabase();
  acts = [[], []];
  node = await startInventedNode(chainOf(acts), 0);
});
afterEach(async () => {
  await node.stop();
  await database.drop();
});

function start(): Indexing {
  const { state: _, ...decoder } = tempo;
  const { url: databaseUrl } = database;
  return startIndexing({ databaseUrl, url: node.url, exchange: EXCHANGE, decoder });
}

/** Adds a block. */
function mine(...events: (typeof created)[]): number {
  acts.push([{ do: "emit all", events }]);
  node.blocks = chainOf(acts);
  return acts.length - 1;
}

it("also by an indexer that waited while another one registered the tokens", async () => {
  const first = start();
  await first.wrote(1);
  const second = start();
  await second.heard(({ event }) => event === "waiting");
  await first.wrote(mine(created, placed(1, LOT, false, -1000)));
  await first.stop();
  await second.wrote(mine(filled(1, TAKEN, true)));
  await second.stop();

  const { rows } = await database.owner.query(
    `select trim_scale(lot_amt)::text as lot_amt, trim_scale(bid_amt)::text as bid_amt
    from dex_trade`,
  );
  expect(rows).toEqual([{ lot_amt: "1.000001000000000001", bid_amt: "0.990000990000000001" }]);
});

it("and it halts where the database has an order of a token that is not registered", async () => {
  const first = start();
  await first.wrote(mine(created, placed(1, LOT, false, -1000)));
  await first.stop();
  await database.owner.query("delete from dex_token where address = $1", [BASE]);
  mine(filled(1, TAKEN, true));
  await expect(start().ended).rejects.toMatchObject({
    name: "Halt",
    message: expect.stringContaining(`rows of the token ${BASE}, which is not registered`),
  });
});

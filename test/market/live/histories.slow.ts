// Random histories, beside clients that follow them by both transports and come back as they like: the copy of each
// equals the tables at every head that it gets. `npm run prove -- live` plays more of them.
import { makeTestApp } from "../../app.ts";
import { emptyExchange, makeDatabase, openClient } from "../../database.ts";
import { aTrade, blockAt, registerMarkets, write } from "../../factories.ts";
import { readerOf, startReplicated, type Replicated } from "../../standby.ts";
import { rowsIn, type Asked } from "./live-client.ts";
import { playFor, Stage, type StageOptions } from "./live-histories.ts";
import { TRANSPORTS } from "./transports.ts";

const SECONDS = 10;

async function playOn(options: StageOptions): Promise<void> {
  const stage = await Stage.open(options);
  try {
    await playFor(SECONDS, stage);
  } finally {
    await stage.close();
  }
  for (const tally of stage.tallies.values()) expect(tally.compared).toBeGreaterThan(0);
  if (process.env["SHOW_TALLY"]) console.log(stage.histories, stage.madeAnew, stage.tallies);
}

it(`a client's copy is exact in the random histories of ${SECONDS} seconds`, async () => {
  await using database = await makeDatabase();
  const { url, reader } = database;
  await playOn({ url, readers: [reader, reader] });
});

describe("on a server and its hot standby", () => {
  let servers: Replicated;
  beforeAll(async () => {
    servers = await startReplicated();
  });
  afterAll(() => servers.remove());

  it.each(TRANSPORTS)(
    "a client of $name goes on once a standby that lags has its place",
    async (transport) => {
      const trades: Asked[] = [{ kind: "trades", market: "WETH/DAI" }];
      const writer = await openClient(servers.primary, { role: "dex_owner" });
      await emptyExchange(writer);
      await registerMarkets(writer);
      await servers.untilReplayed();
      const pools = [readerOf(servers.primary), readerOf(servers.standby)] as const;
      const [one, other] = await Promise.all([makeTestApp(pools[0]), makeTestApp(pools[1])]);

      const first = transport.connect(one.url);
      const follows = first.follow(trades);
      await follows.update();
      const resume = await servers.pauseReplay();
      await write(writer, { trades: [aTrade({ hour: 1 })] });
      const { place } = await follows.update();
      first.close();
      const second = transport.connect(other.url);
      const got = second
        .follow(trades, place)
        .until((event) => event.event === "update" && event.head?.block === blockAt(2));
      await write(writer, { trades: [aTrade({ hour: 2 })] });
      await resume();
      const events = await got;
      expect(events.every(({ event }) => event === "update")).toBe(true);
      expect(events.flatMap(rowsIn).map(({ id }) => String(id))).toEqual(["2"]);

      second.close();
      await Promise.all([one.close(), other.close()]);
      await Promise.all([writer.end(), ...pools.map((pool) => pool.end())]);
    },
  );

  it(`a client's copy is exact in the random histories of ${SECONDS} seconds, on either server`, async () => {
    const readers = [readerOf(servers.primary), readerOf(servers.standby)] as const;
    await playOn({ url: servers.primary, readers, untilSeen: servers.untilReplayed });
    await Promise.all(readers.map((pool) => pool.end()));
  });
});

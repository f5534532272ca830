// The event stream of a hot standby: clients go from one server to the other, and lose nothing.
import { makePool, type Client, type Pool } from "../../../db/connect.ts";
import { emptyExchange } from "../../database.ts";
import { aTrade, blockAt, registerMarkets, write } from "../../factories.ts";
import { connectWriter, newTally, playAlone, playFor } from "../../followers.ts";
import { startReplicated, type Replicated } from "../../standby.ts";
import { followStream } from "../../stream-client.ts";
import { eventStreams } from "../../stream-follower.ts";
import { LIMITS_OF_HISTORIES, startStreams } from "../../stream-service.ts";

const SECONDS = 6;

let servers: Replicated;
let writer: Client;
let primary: Pool;
let standby: Pool;
beforeAll(async () => {
  servers = await startReplicated();
  writer = await connectWriter(servers.primary);
  primary = makePool(servers.primary, { role: "dex_reader", poolSize: 5 });
  standby = makePool(servers.standby, { role: "dex_reader", poolSize: 5 });
});
beforeEach(() => emptyExchange(writer));
afterAll(async () => {
  await Promise.all([writer.end(), primary.end(), standby.end()]);
  await servers.remove();
});

it("a client goes on at a standby that lags, once it has what the client was told", async () => {
  await registerMarkets(writer);
  await servers.untilReplayed();
  const [one, other] = await Promise.all([primary, standby].map((pool) => startStreams(pool)));
  const path = "/v2/stream?topics=head,trades:WETH/DAI";
  const first = await followStream(one!.url + path);
  await first.next();
  const resume = await servers.pauseReplay();
  await write(writer, { trades: [aTrade({ hour: 1 })] });
  const { id } = (await first.next())!;
  first.close();
  const following = followStream(other!.url + path, { "Last-Event-ID": id! });
  await write(writer, { trades: [aTrade({ hour: 2 })] });
  await resume();
  const second = await following;
  const told = await second.until(({ data }) => data.block === blockAt(2));
  expect(told.every(({ event }) => event === "update")).toBe(true);
  expect(told.flatMap(({ data }) => data.topics["trades:WETH/DAI"] ?? [])).toMatchObject([
    { id: 2 },
  ]);
  second.close();
  await Promise.all([one!.close(), other!.close()]);
});

it(`a client's copy is exact in the random histories of ${SECONDS} seconds, on either server`, async () => {
  const tally = newTally();
  const stage = {
    protocol: eventStreams,
    writer,
    makers: [
      () => startStreams(primary, LIMITS_OF_HISTORIES),
      () => startStreams(standby, LIMITS_OF_HISTORIES),
    ],
    untilSeen: servers.untilReplayed,
    tally,
  } as const;
  await playFor(SECONDS, async (history) => {
    await emptyExchange(writer);
    await playAlone(stage, history);
  });
  expect(tally.compared).toBeGreaterThan(0);
});

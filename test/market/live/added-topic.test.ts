// A topic is added by its declaration and one entry in the list: then both transports carry it.
import { z } from "zod";
import { recordTopic } from "../../../market/live/topics/records-topic.ts";
import { TOPIC_KINDS } from "../../../market/live/topics.ts";
import { figure, marketQueries } from "../../../market/queries/snapshot.ts";
import type { TopicKind } from "../../../market/live/topic.ts";
import { makeTestApp } from "../../app.ts";
import { makeDatabase } from "../../database.ts";
import { aTrade, registerMarkets, write } from "../../factories.ts";
import { connectTo, follow } from "../../subscription-client.ts";

const volumeTopic = recordTopic({
  name: "volume",
  find: marketQueries({ name: "dex_volume", columns: figure("vol") }).findSome,
  schema: z.object({ vol: z.string() }).nullable(),
  field: {
    name: "dexVolumesNow",
    event: "DexVolumesNowEvent",
    about: "Volumes that have changed.",
    does: "Volumes, then those that change.",
    of: "dex_volume",
    type: "DexVolume",
    several: "volumes",
  },
});

// The list is that of the other files of the worker too.
beforeAll(() => void (TOPIC_KINDS as TopicKind[]).push(volumeTopic));
afterAll(() => void (TOPIC_KINDS as TopicKind[]).pop());

it("a topic that is declared and listed is in the event stream and in subscriptions", async () => {
  await using database = await makeDatabase();
  await registerMarkets(database.writer);
  await using app = await makeTestApp(database.reader);
  const client = connectTo(app.url);
  const subscription = follow(client, "subscription { dexVolumesNow { nodes { pair vol } } }");
  await subscription.next();
  await write(database.writer, { trades: [aTrade({ hour: 1, base: "2" })] });
  expect((await subscription.next()).nodes).toEqual([{ pair: "WETH/DAI", vol: expect.anything() }]);
  await client.dispose();

  const gone = new AbortController();
  const { body } = await fetch(`${app.url}/v2/stream?topics=volume:weth/dai`, {
    signal: gone.signal,
  });
  let text = "";
  for await (const chunk of body!) {
    text += Buffer.from(chunk).toString();
    if (text.includes("event: update")) break;
  }
  gone.abort();
  expect(text).toContain('"topics":{"volume:WETH/DAI":{"vol":"2"}}');
});

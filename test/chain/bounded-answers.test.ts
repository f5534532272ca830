// What is read of a node's answer.
import { setTimeout as sleep } from "node:timers/promises";
import { fetchBounded } from "../../chain/bounded-answers.ts";
import { LONG, withClosingServer } from "../closing-server.ts";

it("is all of it where the node closes the connection while it is read slowly", async () => {
  await withClosingServer(async (url) => {
    for (let n = 0; n < 5; n += 1) {
      const { body } = await fetchBounded(url);
      let bytes = 0;
      for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
        bytes += chunk.length;
        await sleep(1);
      }
      expect(bytes).toBe(LONG.length);
    }
  });
});

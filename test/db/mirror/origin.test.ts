// What is read of the answer of a mirrored service.
import { setTimeout as sleep } from "node:timers/promises";
import { Origin } from "../../../db/mirror/origin.ts";
import { LONG, withClosingServer } from "../../closing-server.ts";

it("is all of it where the service closes the connection while it is read slowly", async () => {
  await withClosingServer(async (url) => {
    for (let n = 0; n < 5; n += 1) {
      let bytes = 0;
      await new Origin(url).read(
        "file",
        {},
        {
          onChunk: async (chunk) => {
            bytes += chunk.length;
            await sleep(1);
          },
        },
      );
      expect(bytes).toBe(LONG.length);
    }
  });
});

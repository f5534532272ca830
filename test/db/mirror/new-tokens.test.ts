// A mirror has the registration of a token as soon as it has rows of it, also where it is stopped right after.
import { follow } from "../../../db/mirror/follower.ts";
import {
  anAddress,
  aTrade,
  DAI,
  registerMarkets,
  registerPair,
  registerTokens,
  WETH,
  write,
} from "../../factories.ts";
import { useMirrored } from "./following.ts";
import { makeLyingOrigin, type LyingOrigin } from "./lying-origin.ts";

const mirrored = useMirrored(async ({ writer }) => {
  await registerMarkets(writer);
  await write(writer, { trades: [aTrade({ hour: 1, offer_id: null })] });
});
let origin: LyingOrigin;
let asked = 0;
beforeAll(async () => {
  origin = await makeLyingOrigin(() => mirrored.app.url);
  origin.before = (path) => {
    if (path.startsWith("/v2/registrations")) asked += 1;
  };
});
afterAll(() => origin.close());

/** Follows up to the head, and on through each of these steps of the origin. Returns how often registrations were asked for. */
async function followThrough(steps: (() => Promise<unknown>)[]): Promise<number> {
  const stop = new AbortController();
  const left = [...steps];
  let failure: unknown;
  asked = 0;
  await follow({
    ...{ url: mirrored.mirror.url, origin: origin.url, signal: stop.signal, firstPauseMs: 1 },
    onEvent: ({ event }) => {
      if (event !== "written") return;
      const next = left.shift();
      if (next === undefined) stop.abort();
      next?.().catch((error: unknown) => {
        failure = error;
        stop.abort();
      });
    },
  });
  expect(failure).toBe(undefined);
  return asked;
}

const traded = (hour: number, baseGem: string, quoteGem = DAI): Promise<unknown> =>
  write(mirrored.origin.writer, { trades: [aTrade({ hour, baseGem, quoteGem, offer_id: null })] });

it("asks for registrations before it writes rows of a token that it does not know", async () => {
  const { origin: at, mirror } = mirrored;
  const token = anAddress("new");
  await mirrored.catchUp();
  await traded(2, WETH);
  const count = await followThrough([
    () => traded(3, WETH),
    async () => {
      await registerTokens(at.writer, { address: token, symbol: "NEW" });
      await registerPair(at.writer, token, DAI);
      await traded(4, token);
    },
    () => traded(5, token),
  ]);
  expect(count).toBe(2);
  const { rows } = await mirror.reader.query("select from dex_token where address = $1", [token]);
  expect(rows).toHaveLength(1);
});

it("asks once for a token that the origin has not registered either, until it asks anyway", async () => {
  const [one, another] = [anAddress("one"), anAddress("another")];
  await traded(6, WETH);
  const count = await followThrough([
    () => traded(7, one),
    () => traded(8, one),
    () => traded(9, WETH, another),
    () => traded(10, one),
    () => traded(11, another),
  ]);
  expect(count).toBe(3);
});

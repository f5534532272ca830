// What /ready reads of the endpoints.
import { z } from "zod";
import type { Database } from "../../db/connect.ts";
import { v2Envelope } from "../../http/envelope.ts";
import { UnknownPair } from "../../market/absent.ts";
import { endpoint, type Version } from "../../rest/endpoint.ts";
import { LISTING_SETTINGS, listingFormats } from "../../rest/listings/formats.ts";
import { findUnreadable } from "../../rest/probe.ts";
import { v1 } from "../../rest/v1/v1-endpoints.ts";
import { v2 } from "../../rest/v2/v2-endpoints.ts";

interface Sent {
  name: string;
  values?: unknown[];
}

/** A database that has a head and no market. */
function anEmptyDatabase(): { db: Database; sent: Sent[] } {
  const sent: Sent[] = [];
  const query = (statement: Sent) => {
    sent.push(statement);
    return Promise.resolve({
      rows: [["2026-01-31T12:00:00.000Z", 5, null]],
      fields: [],
    });
  };
  return { db: { query } as unknown as Database, sent };
}

const none = () => false;

it("is each statement once, of no market", async () => {
  const { db, sent } = anEmptyDatabase();

  const unreadable = await findUnreadable(db, [v1, v2, ...listingFormats(LISTING_SETTINGS)], none);

  expect(unreadable).toEqual([]);
  const names = sent.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
  // The candles of REST, and those of TradingView, whose statement names the market in another way.
  expect(names).toEqual(expect.arrayContaining(["rest_candles", "rest_candles_by_key"]));
  expect(names.filter((name) => name.endsWith("_list"))).toEqual([]);
  const named = sent
    .flatMap(({ values = [] }) => values)
    .filter((value) => /weth|0x/i.test(String(value)));
  expect(named).toEqual([]);
});

it("names the path of an endpoint whose statement fails, and not of one without what is asked for", async () => {
  const failed = new Error('relation "vwap" does not exist');
  const anEndpoint = (path: string, error: Error) =>
    endpoint({
      ...{ id: path, path, summary: "", description: "", shape: () => ({}), data: z.object({}) },
      find: () => Promise.reject(error),
    });
  const version: Version = {
    name: "v9",
    description: "",
    envelope: v2Envelope,
    endpoints: [
      anEndpoint("/vwap", failed),
      anEndpoint("/vwap/:base/:quote", failed),
      anEndpoint("/twap/:base/:quote", new UnknownPair()),
    ],
  };

  const unreadable = await findUnreadable(anEmptyDatabase().db, [version], none);

  expect(unreadable).toEqual([{ path: "/v9/vwap", error: failed }]);
  const all = findUnreadable(anEmptyDatabase().db, [version], (error) => error === failed);
  await expect(all).rejects.toBe(failed);
});

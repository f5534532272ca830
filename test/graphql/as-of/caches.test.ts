// How long caches keep the answer to a GET of a persisted document with @asOf.
import { identifierOf, PersistedDocuments } from "../../../graphql/persisted/documents.ts";
import { aHash, aTrade, blockAt, hours, registerMarkets } from "../../factories.ts";
import { useApp, useClient, useDatabase } from "../../served.ts";

const NAMES = "($block: Int, $time: Datetime, $hash: String)";
const document = (fields: string): string =>
  `query ${NAMES} @asOf(block: $block, time: $time, hash: $hash) { ${fields} }`;

const MARKET = 'dexMarket(pair: "WETH/DAI") { last vol bid active dexPair { base quote } }';
/** Of the service's own, all of a block. */
const OWN = [
  MARKET,
  "allDexTrades(first: 1) { totalCount nodes { price offer { filled } } pageInfo { endCursor } }",
  'dexBook(base: "WETH", quote: "DAI") { nodes { price } }',
  'dexCandles(base: "WETH", quote: "DAI") { nodes { close } }',
  "dexHead { block digest }",
  "allDexTokens { nodes { symbol } }",
];
/** Of what may change while the block does not. */
const AS_NOW = [
  "allNotes { nodes { body } }",
  "allNotes { totalCount }",
  "note(id: 1) { body }",
  "noteCount",
  `${MARKET} newestNotes { nodes { body } }`,
  "allDexTokens { nodes { notesByToken { nodes { body } } } }",
  "allDexPairs { nodes { noted } }",
  "dexDigestBasis { version kind }",
  "dexBlock { number }",
];
const REFUSED = 'allDexTrades(first: 1, after: "WzFd") { nodes { id } }';

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  for (const hour of [1, 2, 3]) {
    const trades = JSON.stringify([aTrade({ hour })]);
    const values = [blockAt(hour), hours(hour), aHash(`in ${hour}`), trades];
    await writer.query("select ingest.write_block($1, $2, $3, trades => $4)", values);
  }
});
const site = useClient(database);
beforeAll(() =>
  site.query(`
    create schema site;
    grant usage on schema site to dex_reader;
    create table site.note (
      id integer primary key,
      token text not null references public.dex_token (address),
      body text not null
    );
    create index note_token_idx on site.note (token);
    create function site.note_count() returns bigint
    language sql stable as 'select count(*) from site.note';
    create function site.newest_notes() returns setof site.note
    language sql stable as 'select * from site.note order by id desc';
    create function site.noted(pair public.dex_pair) returns boolean
    language sql stable as 'select exists (select from site.note where token = pair.base_gem)';
    comment on function site.noted(public.dex_pair) is '@behavior +typeField -queryField';
    grant select on site.note to dex_reader;
    grant execute on all functions in schema site to dex_reader;
  `),
);
const app = useApp(database, {
  documents: new PersistedDocuments([...OWN, ...AS_NOW, REFUSED].map(document)),
  exposedSchemas: ["site"],
  finality: 3600,
});

async function headersAt(fields: string, variables: object) {
  const documentId = identifierOf(document(fields));
  const asked = new URLSearchParams({ documentId, variables: JSON.stringify(variables) });
  const { status, body, headers } = await app.request.get(`/graphql?${asked.toString()}`);
  expect([status, body.errors]).toEqual([200, undefined]);
  return headers;
}

const keptAt = async (fields: string, variables: object): Promise<string | undefined> =>
  (await headersAt(fields, variables))["cache-control"];

const [long, short] = ["public, max-age=3600", "public, max-age=1"];
const FINAL = { block: blockAt(2) };

it.each(OWN)("keep for an hour what is of a final block: %s", async (fields) => {
  // The second answer is of the kept plan.
  for (const block of [blockAt(1), blockAt(2)]) {
    const headers = await headersAt(fields, { block });
    expect(headers["cache-control"]).toBe(long);
    expect(headers["etag"]).toMatch(/^"[\w-]+"$/);
  }
});

it.each(AS_NOW)("keep for a second what is as it is now: %s", async (fields) => {
  for (const block of [blockAt(1), blockAt(2)]) {
    expect(await keptAt(fields, { block })).toBe(short);
  }
});

it("keep as long as an answer of REST what a time or a hash names", async () => {
  expect(await keptAt(MARKET, { time: hours(1.5) })).toBe(long);
  expect(await keptAt(MARKET, { time: hours(2) })).toBe(short);
  expect(await keptAt(MARKET, { hash: aHash("in 2") })).toBe(long);
  expect(await keptAt(MARKET, { hash: aHash("in 3") })).toBe(short);
  expect(await keptAt(MARKET, { block: blockAt(2) + 1 })).toBe(short);
});

it("have a strong tag by which they ask again", async () => {
  const { etag } = await headersAt(MARKET, FINAL);
  const documentId = identifierOf(document(MARKET));
  const asked = new URLSearchParams({ documentId, variables: JSON.stringify(FINAL) });
  const again = await app.request
    .get(`/graphql?${asked.toString()}`)
    .set("If-None-Match", String(etag));
  expect([again.status, again.headers["cache-control"]]).toEqual([304, long]);
});

it("keep no error", async () => {
  const documentId = identifierOf(document(REFUSED));
  const asked = new URLSearchParams({ documentId, variables: JSON.stringify(FINAL) });
  const { body, headers } = await app.request.get(`/graphql?${asked.toString()}`);
  expect([body.errors.length, headers["cache-control"]]).toEqual([1, "no-store"]);
});

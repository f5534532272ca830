// Values of a site's own columns: what PostgreSQL has is what GraphQL shows.
import { dataOf, errorsOf } from "../../graphql.ts";
import { useApp, useClient, useDatabase } from "../../served.ts";

const SITE = `
  create schema site;
  create domain site.delay as interval;
  create type site.pause as (lasted interval, note text);
  create type site.delays as range (subtype = interval);
  create table site.wait (
    id int primary key,
    lasted interval,
    delay site.delay,
    several interval[],
    delays site.delay[],
    pause site.pause,
    pauses site.pause[],
    between site.delays
  );
  insert into site.wait
  select n, given, given, array[given, null], array[given, null], (given, 'x')::site.pause, array[(given, 'x')::site.pause], site.delays(given, null)
  from unnest(array[
    '-00:00:00.5', '-100:00:00.123456', '1 mon -00:00:01.5', '-1 year -2 mons +3 days -04:05:06.789', '00:00:01.5', '-1 s', '0.000001', '-00:00:00.05', '-00:00:01.000001'
  ]::interval[]) with ordinality as given (given, n);
  create table site.span (
    id int primary key,
    moments tstzrange,
    locals tsrange,
    days daterange,
    amounts numrange,
    lasted site.delays,
    several daterange[],
    pauses site.pause[]
  );
  create function site.no_pauses() returns site.pause[] language sql stable as 'select null::site.pause[]';
  create function site.no_span() returns daterange language sql stable as 'select null::daterange';
  insert into site.span (id)
  values (1);
  insert into site.span
  values (2, '(,)', '(,)', '(,)', '(,)', '(,)', array[null, '[2020-01-01,)']::daterange[], '{}'),
  (3, null, null, null, null, null, null, array[null, row(null, null)::site.pause, row(null, 'x')::site.pause]);
  create domain site.document as json;
  create type site.page as (content json);
  create table site.paper (id int primary key, plain json, stored jsonb, document site.document, several json[], page site.page);
  insert into site.paper
  select id, given::json, given::jsonb, given::json, array[given, null]::json[], row(given::json)::site.page
  from (values (1, '{"a": 1.0000000000000000001, "a":  [1.10, 1e2, "é", null]}'), (2, 'null')) as one (id, given);
  create function site.plain(given json) returns json language sql stable as 'select given';
  create function site.stored(given jsonb) returns jsonb language sql stable as 'select given';
  create function site.listed(given json[]) returns json[] language sql stable as 'select given';
  create domain site.object as oid;
  create table site.thing (id int primary key, object oid, thing site.object);
  insert into site.thing
  select n, object, object
  from unnest(array[4294967295, 2147483648, 0]::oid[]) with ordinality as given (object, n);
  create function site.same(object oid) returns oid language sql stable as 'select object';
  grant usage on schema site to dex_reader;
  grant select on all tables in schema site to dex_reader;
`;

const database = useDatabase();
const site = useClient(database);
beforeAll(() => site.query(SITE));
const app = useApp(database, { exposedSchemas: ["site"] });

type Rows = Record<string, Record<string, unknown>[]>;

/** The rows of a list, which compiled code reads; a field named `__proto__` has grafast read them, in the same way. */
async function rowsOf(list: string, fields: string): Promise<Record<string, unknown>[]> {
  const query = (more: string): string => `{ ${list} { nodes { ${more} ${fields} } } }`;
  const compiled = await dataOf<Record<string, { nodes: Rows[string] }>>(app, query(""));
  const plain = await app.request.post("/graphql").send({ query: query("__proto__: __typename") });
  const { nodes } = compiled[list]!;
  const withoutName = plain.text.replace(/"__proto__":"[^"]*",/g, "");
  expect(JSON.parse(withoutName)).toEqual({ data: { [list]: { nodes } } });
  return nodes;
}

const INTERVAL = "{ years months days hours minutes seconds }";

it("shows an interval with the fraction of its seconds, as a filter has it", async () => {
  const shown = (given: Record<string, number>) => ({
    ...{ years: 0, months: 0, days: 0, hours: 0, minutes: 0, seconds: 0 },
    ...given,
  });
  const lasted = [
    shown({ seconds: -0.5 }),
    shown({ hours: -100, seconds: -0.123456 }),
    shown({ months: 1, seconds: -1.5 }),
    shown({ years: -1, months: -2, days: 3, hours: -4, minutes: -5, seconds: -6.789 }),
    shown({ seconds: 1.5 }),
    shown({ seconds: -1 }),
    shown({ seconds: 0.000001 }),
    shown({ seconds: -0.05 }),
    shown({ seconds: -1.000001 }),
  ];
  const fields = `id lasted ${INTERVAL} delay ${INTERVAL} several ${INTERVAL} delays ${INTERVAL}
    pause { lasted ${INTERVAL} } pauses { lasted ${INTERVAL} } between { start { value ${INTERVAL} } }`;
  expect(await rowsOf("allWaits", fields)).toEqual(
    lasted.map((value, n) => ({
      ...{ id: n + 1, lasted: value, delay: value, several: [value, null], delays: [value, null] },
      ...{ pause: { lasted: value }, pauses: [{ lasted: value }], between: { start: { value } } },
    })),
  );
  const filter = "filter: { lasted: { equalTo: $lasted } }";
  for (const [n, value] of lasted.entries()) {
    const query = `query ($lasted: IntervalInput!) { allWaits(${filter}) { nodes { id } } }`;
    expect(await dataOf(app, query, { lasted: value })).toEqual({
      allWaits: { nodes: [{ id: n + 1 }] },
    });
  }
});

it("shows a null range and a null array of rows as null", async () => {
  const range = "{ start { value } end { value } }";
  const columns = ["moments", "locals", "days", "amounts", "several"];
  const fields = columns.map((column) => `${column} ${range}`).join(" ");
  const delays = `{ start { value ${INTERVAL} } end { value ${INTERVAL} } }`;
  const every = { start: null, end: null };
  const none = { moments: null, locals: null, days: null, amounts: null, lasted: null };
  expect(await rowsOf("allSpans", `${fields} lasted ${delays} pauses { note }`)).toEqual([
    { ...none, several: null, pauses: null },
    {
      ...{ moments: every, locals: every, days: every, amounts: every, lasted: every },
      ...{ several: [null, { start: { value: "2020-01-01" }, end: null }], pauses: [] },
    },
    { ...none, several: null, pauses: [null, null, { note: "x" }] },
  ]);
  expect(await dataOf(app, `{ noSpan ${range} noPauses { note } }`)).toEqual({
    noSpan: null,
    // db/additions.md names it.
    noPauses: [],
  });
});

const PLAIN = '{"a": 1.0000000000000000001, "a":  [1.10, 1e2, "é", null]}';
const STORED = '{"a": [1.10, 100, "é", null]}';

it("shows JSON as PostgreSQL has it, and takes it so", async () => {
  expect(await rowsOf("allPapers", "plain stored document several page { content }")).toEqual([
    {
      ...{ plain: PLAIN, stored: STORED, document: PLAIN, several: [PLAIN, null] },
      page: { content: PLAIN },
    },
    {
      plain: "null",
      stored: "null",
      document: "null",
      several: ["null", null],
      page: { content: "null" },
    },
  ]);
  const query = `query ($given: JSON!, $several: [JSON]) {
    plain(given: $given) stored(given: $given) listed(given: $several)
    literal: plain(given: "{\\"a\\": 1.10}")
  }`;
  expect(await dataOf(app, query, { given: PLAIN, several: [PLAIN, null, "1.10"] })).toEqual({
    ...{ plain: PLAIN, stored: STORED, listed: [PLAIN, null, "1.10"], literal: '{"a": 1.10}' },
  });
  expect(await errorsOf(app, '{ plain(given: "{") }')).toEqual([expect.stringContaining("JSON")]);
});

it("shows and takes an object's identifier of 32 bits", async () => {
  expect(await rowsOf("allThings", "object thing")).toEqual(
    [4294967295, 2147483648, 0].map((object) => ({ object, thing: object })),
  );
  const query =
    "query ($object: Oid) { allThings(condition: { object: $object }) { nodes { id } } }";
  expect(await dataOf(app, query, { object: 4294967295 })).toEqual({
    allThings: { nodes: [{ id: 1 }] },
  });
  expect(await dataOf(app, "{ same(object: 2147483648) }")).toEqual({ same: 2147483648 });
  for (const given of ["4294967296", "-1", "1.5"]) {
    expect(await errorsOf(app, `{ same(object: ${given}) }`)).toEqual([
      expect.stringContaining("expected an integer from 0 to 4294967295"),
    ]);
  }
});

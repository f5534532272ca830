// What a client is told when something is wrong, in every mode that the environment can name: never
// SQL, a path of the machine, a host, a stack or a password. The log has it, under the client's id.
import { exchange, exchangeWhole, graphql, type Asked } from "../exchange-http.ts";
import { registerMarkets, setHead } from "../factories.ts";
import { useDatabase } from "../served.ts";
import { startService, type Service } from "../service.ts";

const running: Service[] = [];
// Before the database is dropped.
afterAll(async () => {
  for (const service of running) {
    service.signal("SIGKILL");
    await service.ended;
  }
});
const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  await setHead(writer, 24);
});

const MODES: Record<string, string>[] = [
  {},
  { NODE_ENV: "production" },
  { NODE_ENV: "test" },
  { NODE_ENV: "development" },
  { NODE_ENV: "development", GRAPHILE_ENV: "development", DEBUG: "*" },
];

const ID = "a-client-of-ours";
const explained = { "X-GraphQL-Explain": "plan,sql" };

/** What goes wrong in the service, and what a client does wrong. */
const FAULTS: Asked[] = [
  { path: "/v1/volumes/weth/dai" },
  { path: "/v2/volumes" },
  graphql({ query: "{ allDexVolumes { totalCount nodes { vol } } }" }, explained),
];
const MISTAKES: Asked[] = [
  { path: "/v1/markets/%E0%A4%A" },
  { path: "/v2/trades/weth/dai?limit=no" },
  { path: "/v2/nowhere/../../../etc/passwd" },
  { path: "/ruru-static/..%2f..%2fpackage.json" },
  { path: "/v1/markets/weth/dai", method: "DELETE" },
  graphql("{"),
  graphql("[1, 2]"),
  graphql({ query: "{ " }),
  graphql({ query: "{ nope }" }),
  graphql({ query: "mutation { nope }" }),
  graphql({ query: "subscription { nope }" }),
  graphql({ query: "{ allDexTrades(first: -1) { totalCount } }" }),
  graphql({ query: '{ allDexTrades(after: "nonsense") { totalCount } }' }),
  graphql({ query: "{ allDexTrades(filter: {}) { totalCount } }" }),
  graphql({ query: "query ($n: Int) { allDexTrades(first: $n) { totalCount } }", variables: 7 }),
  graphql({ query: "{ dexHead { block } }", extensions: 7 }),
  graphql({ query: "{ __typename }" }, { "Content-Type": "text/plain" }),
];

const INSIDES =
  /\b(select|insert|update|delete) .*\b(from|into|set|where)\b|relation|permission denied|dex_volume|dex_private|dex_reader|ECONN|127\.0\.0\.1|localhost|\/node_modules|\.ts\b|\.js:|file:\/\/|\bat \S+ ?\(|password|postgres/i;

async function answersOf(url: string, questions: Asked[]): Promise<string[]> {
  const answers: string[] = [];
  for (const asked of questions) {
    const headers = { ...asked.headers, "X-Request-Id": ID };
    const { status, headers: told, body } = await exchange(url, { ...asked, headers });
    const { headers: whole } = await exchangeWhole(url, { ...asked, headers });
    expect(whole[whole.indexOf("X-Request-Id") + 1]).toBe(ID);
    expect(told.join("\n")).not.toMatch(/127\.0\.0\.1|postgres|x-powered-by/i);
    const { pathname } = new URL(asked.path, url);
    answers.push(`${asked.method ?? "GET"} ${pathname} ${status} ${body.toString()}`);
  }
  return answers;
}

/** A message without the moment it was said at. */
const timeless = (answer: string): string => answer.replace(/"time":("[^"]*"|\d+)/, '"time":');

const nameOf = (mode: Record<string, string>): string =>
  Object.entries(mode)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ") || "nothing";

let first: string[] | undefined;

it.each(MODES.map((mode) => [nameOf(mode), mode] as const))(
  "is told nothing of the service's insides with %s in the environment, and the log is",
  async (_, mode) => {
    const service = startService({ ...mode, DATABASE_URL: database.url });
    running.push(service);
    const url = await service.url;
    await exchange(url, graphql({ query: "{ __typename }" }));

    await database.owner.query("alter view dex_volume rename to dex_volume_away");
    const unready = await answersOf(url, FAULTS);
    await database.owner.query(`
      create function fail_inside() returns boolean language plpgsql as
        $$ begin raise 'the insides of dex_volume'; end $$;
      grant execute on function fail_inside to dex_reader;
      create view dex_volume as
      select *
      from dex_volume_away
      where fail_inside();
      grant select on dex_volume to dex_reader;
    `);
    const faults = await answersOf(url, FAULTS);
    await database.owner.query(`
      drop view dex_volume;
      drop function fail_inside;
      alter view dex_volume_away rename to dex_volume;
    `);
    const mistakes = await answersOf(url, MISTAKES);
    service.signal("SIGTERM");
    const { stdout, stderr } = await service.ended;

    expect(unready.filter((answer) => !/ 503 |UNAVAILABLE/.test(answer))).toEqual([]);
    expect(faults.filter((answer) => !/ 500 |INTERNAL_SERVER_ERROR/.test(answer))).toEqual([]);
    expect(mistakes.filter((answer) => / 5\d\d |INTERNAL_SERVER_ERROR/.test(answer))).toEqual([]);
    const answers = [...unready, ...faults, ...mistakes];
    for (const answer of answers) {
      const [, , , ...said] = answer.split(" ");
      expect(said.join(" ")).not.toMatch(INSIDES);
    }
    first ??= answers.map(timeless);
    expect(answers.map(timeless)).toEqual(first);

    const lines = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("dex_volume"));
    const told = lines.filter((line) => line.includes(ID));
    expect(told.length).toBeGreaterThanOrEqual(4 * FAULTS.length);
    expect(told.filter((line) => line.includes("the insides of dex_volume"))).toHaveLength(
      2 * FAULTS.length,
    );
  },
);

it.each(MODES.map((mode) => [nameOf(mode), mode] as const))(
  "is told no host, login or password of a database that is not there, with %s",
  async (_, mode) => {
    const service = startService({
      ...mode,
      DATABASE_URL: "postgres://secretlogin:secretword@127.0.0.1:1/secretbase",
    });
    running.push(service);
    const url = await service.url;

    const answers = await answersOf(url, [
      { path: "/ready" },
      { path: "/v1/markets/" },
      { path: "/v2/trades/weth/dai" },
      graphql({ query: "{ dexHead { block } }" }),
    ]);
    service.signal("SIGTERM");
    const { stdout, stderr } = await service.ended;

    for (const answer of answers) {
      expect(answer).toMatch(/ 503 /);
      expect(answer).not.toMatch(/secret|127\.0\.0\.1|ECONN|:1\b/);
    }
    expect(stdout).toContain("ECONNREFUSED");
    expect(stdout + stderr).not.toContain("secretword");
  },
);

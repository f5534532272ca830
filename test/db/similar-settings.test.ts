// Names in the environment that are like a setting, and are none.
import { similarSettings } from "../../db/similar-settings.ts";
import { settings } from "../../server/settings.ts";
import { runFile } from "../service.ts";

const OWN = settings().map(({ name }) => name);

it.each([
  ["RATELIMIT", "RATE_LIMIT"],
  ["rate_limit", "RATE_LIMIT"],
  ["DATABASEURL", "DATABASE_URL"],
  ["DATABASE_URI", "DATABASE_URL"],
  ["MAX_PAGES", "MAX_PAGE"],
  ["METRIC", "METRICS"],
  ["GRAPHQL_POLO_SIZE", "GRAPHQL_POOL_SIZE"],
  ["port", "PORT"],
])("%s is like %s", (given, nearest) => {
  expect(similarSettings([given], OWN)).toEqual([{ given, nearest }]);
});

it("finds none in what is a setting, or is another program's", () => {
  const others = [
    ...["PATH", "HOME", "HOSTNAME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "PWD", "TERM"],
    ...["NODE_ENV", "NODE_OPTIONS", "PGHOST", "PGPORT", "PGDATABASE", "PGSSLMODE", "SSL_CERT_FILE"],
    ...["npm_config_cache", "npm_package_name", "http_proxy", "NO_PROXY", "TZ", "CI", "DEBUG"],
    ...["KUBERNETES_PORT", "REDIS_URL", "BASE_URL", "CACHE_DIR", "XDG_CACHE_HOME", "POST", "PAGER"],
  ];
  expect(similarSettings([...OWN, ...others], OWN)).toEqual([]);
});

it("is said of those that `npm run index` reads, and not of the service's settings", async () => {
  const ofService = Object.fromEntries(OWN.map((name) => [name, ""]));
  const { code, stderr } = await runFile("chain/commands/index-chain.ts", {
    ...ofService,
    ...{ RPCRATE: "5", INDEX_METRIC_PORT: "0", DATABASE_OWNERURL: "postgres://x/y" },
  }).ended;

  expect(code).toBe(2);
  expect(stderr.split("\n").filter((line) => line.includes("no setting"))).toEqual([
    "RPCRATE is no setting, and is ignored: did you mean RPC_RATE?",
    "INDEX_METRIC_PORT is no setting, and is ignored: did you mean INDEX_METRICS_PORT?",
    "DATABASE_OWNERURL is no setting, and is ignored: did you mean DATABASE_OWNER_URL?",
  ]);
});

// The programs that one script of package.json runs by their names.
export interface Program {
  /** What it does, for `--help`. */
  does: string;
  /** Runs in the repository's folder; what follows the name is added. */
  command: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Folders whose packages it needs. */
  packages?: readonly string[];
}

const node = (does: string, file: string): Program => ({ does, command: ["node", file] });

const suite = (name: string, does: string, ...packages: string[]): Program => ({
  does,
  command: ["jest"],
  env: { SUITE: name },
  packages,
});

/** A test that writes what it compares. */
const written = (does: string, variable: string, file: string): Program => ({
  does,
  command: ["jest", file],
  env: { [variable]: "1" },
});

/** A suite that writes what came of it. */
const recorded = (program: Program, does: string, variable: string, ...args: string[]) => ({
  ...program,
  does,
  command: [...program.command, ...args],
  env: { ...program.env, [variable]: "1" },
});

const suites = {
  slow: suite("slow", "what takes long, of all parts: random histories, standbys, 200,000 trades"),
  process: suite("process", "the service and the embedded database as processes", "traces"),
  dba: suite("dba", "the tutorial and the commands for migrations", "tools/squawk"),
  faults: suite("faults", "faults of the database, the service and its clients"),
  cluster: suite("cluster", "standbys, HAProxy and their failures"),
  image: suite("image", "the image, built by buildah and run by podman"),
  clients: suite(
    "clients",
    "the programs of examples/graphql/ and examples/mcp/, clients generated from the OpenAPI document, DuckDB on served files",
    ...["examples/graphql", "examples/mcp", "test/clients/generators", "test/clients/duckdb"],
  ),
  page: suite("page", "the market pages in Chromium"),
  chain: suite("chain", "the indexer on a real chain", "test/chain/hardhat"),
};

/** By the script, then by the name that is given to it. */
export const PROGRAMS: Record<string, Record<string, Program>> = {
  "test:suite": suites,
  bench: {
    read: {
      ...node("REST and GraphQL beside plain PostGraphile", "bench/read.ts"),
      packages: ["tools/bench"],
    },
    write: node("the cost of a block", "bench/write.ts"),
    chain: node("the indexer", "bench/chain.ts"),
    live: node("streams and subscriptions", "bench/live.ts"),
    migration: node("a schema change beside readers and writers", "bench/migration.ts"),
    page: node("the frames of a list of 1,016 markets", "test/page/frames.ts"),
    growth: node("what pages hold that stay open", "test/page/growth.ts"),
    past: node("past blocks beside the head", "bench/past.ts"),
    mirror: node("how far a mirror is behind its origin", "test/db/mirror/lag.ts"),
    versions: node("this code beside another checkout", "bench/versions.ts"),
  },
  prove: {
    figures: node("the figures of random histories", "test/prove.ts"),
    past: node("what is published as of their past blocks", "test/prove-past.ts"),
    chain: {
      ...node("the indexer in random histories of a chain", "test/chain/prove.ts"),
      packages: ["test/chain/hardhat"],
    },
    live: node("streams and subscriptions in random histories", "test/market/live/prove.ts"),
    inputs: node("that no random input is a fault", "test/fuzz/main.ts"),
    pages: {
      ...node("the market pages by axe and Lighthouse", "test/page/audit.ts"),
      packages: ["tools/page"],
    },
  },
  generate: {
    baseline: node("the baseline migration, before the first release", "tools/baseline.ts"),
    schema: written("graphql/schema.graphql", "WRITE_SCHEMA", "test/graphql/schema/schema.test.ts"),
    openapi: written(
      "rest/openapi/openapi.json",
      "WRITE_OPENAPI",
      "test/rest/openapi/openapi-document.test.ts",
    ),
    asyncapi: written(
      "rest/asyncapi/asyncapi.json",
      "WRITE_ASYNCAPI",
      "test/rest/asyncapi/asyncapi.test.ts",
    ),
    readme: written("the answers in the pages", "WRITE_README", "test/readme.test.ts"),
    contract: written("docs/releases/", "WRITE_CONTRACT", "test/docs/contract.test.ts"),
    dump: written("the database of the release to come", "WRITE_DUMP", "test/db/upgrade.test.ts"),
    picture: written("docs/schema.md", "WRITE_PICTURE", "test/docs/schema-picture.test.ts"),
    plans: node("docs/plans.md", "tools/plans.ts"),
    profile: {
      ...node("bench/results/profile: where the time of an answer goes", "tools/profile.ts"),
      packages: ["tools/bench"],
    },
    // Faults are timed: another file's would be felt.
    faults: recorded(
      suites.faults,
      "the faults of docs/reliability.md",
      "WRITE_RELIABILITY",
      "--maxWorkers=1",
    ),
    cluster: recorded(suites.cluster, "the cluster of docs/reliability.md", "WRITE_RELIABILITY"),
    tutorial: recorded(suites.dba, "db/tutorial.md", "WRITE_TUTORIAL", "tutorial"),
    pictures: node("the pictures of the market pages", "test/page/pictures.ts"),
    dashboard: node(
      "the picture of the dashboard, from Prometheus' answers to its queries",
      "test/deploy/dashboard-picture.ts",
    ),
  },
};

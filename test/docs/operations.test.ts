// docs/configuration.md has every setting and docs/operations.md every metric, and no other.
import { streamsOf } from "../streams.ts";
import { readFileSync } from "node:fs";
import { IndexerStatus } from "../../chain/index-status.ts";
import { makePool } from "../../db/connect.ts";
import { settings } from "../../server/settings.ts";
import {
  DatabaseNotReady,
  DatabaseUnreachable,
  DataLocked,
  InternalError,
  ServiceBusy,
  TookTooLong,
} from "../../http/errors.ts";
import { liveMetrics } from "../../graphql/subscriptions/live-metrics.ts";
import { Metrics } from "../../http/observe/metrics.ts";

const page = (name: string): string =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
const text = page("configuration") + page("operations");

const alerts = readFileSync(new URL("../../deploy/prometheus/alerts.yml", import.meta.url), "utf8");

const section = (title: string): string =>
  text.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? "";

/** The cells of the tables in a text, without their heads. */
const rowsIn = (part: string): string[][] =>
  part
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

const metricNames = (): string[] => {
  // It connects when it is first asked, and is not.
  const pool = makePool("postgres://nobody@127.0.0.1:1/nothing");
  const live = liveMetrics({ subscriptions: () => 0, connections: () => 0 });
  const others = [new IndexerStatus().registry, streamsOf(pool).registry, live.registry];
  const own = { kept: undefined, droppedLines: () => 0, others };
  return new Metrics({ pools: { rest: pool }, db: pool, ...own }).names;
};

it("has each setting under its group, with its default and what it accepts", () => {
  const groups = section("Settings").split(/^### /m).slice(1);
  const documented = groups.flatMap((group) => {
    const [title = ""] = group.split("\n");
    return rowsIn(group).map((cells) => [title, ...cells.slice(0, 3)]);
  });
  expect(documented).toEqual(
    settings().map(({ name, group, defaultValue, accepted }) => [
      group,
      `\`${name}\``,
      defaultValue === undefined ? "" : `\`${defaultValue}\``,
      accepted,
    ]),
  );
});

it("says what each setting and each metric is", () => {
  for (const title of ["Settings", "Metrics"]) {
    for (const cells of rowsIn(section(title))) expect(cells.at(-1)).not.toBe("");
  }
});

it("has each metric", () => {
  const documented = rowsIn(section("Metrics")).map(([name]) => name!.replaceAll("`", ""));
  expect(documented.sort()).toEqual(metricNames().sort());
});

it("takes no stream and no file for a slow answer: these last as long as their clients want", () => {
  const dashboard = readFileSync(
    new URL("../../deploy/grafana/dashboard.json", import.meta.url),
    "utf8",
  );
  const asked = `${alerts}${dashboard.replaceAll('\\"', '"')}`.matchAll(
    /duration_seconds_bucket\{([^}]*)\}/g,
  );
  const leftOut = [...asked].map(([, labels = ""]) => /route!~"([^"]*)"/.exec(labels)?.[1] ?? "");
  expect(leftOut).toHaveLength(5);
  for (const routes of leftOut) {
    expect(routes.split("|")).toEqual(expect.arrayContaining(["/v2/stream", "/v2/files/:name"]));
  }
});

it("alerts by each code of a failure of the service's own", () => {
  const rule = /alert: GraphqlFails[^]*?code=~"([^"]*)"/.exec(alerts)?.[1]?.split("|");
  const failures = [
    new DatabaseUnreachable(),
    new ServiceBusy(),
    new TookTooLong(),
    new DataLocked(),
    new DatabaseNotReady(),
    new InternalError(),
  ];
  expect(rule?.toSorted()).toEqual([...new Set(failures.map(({ code }) => code))].sort());
  for (const { status, extensions } of failures.slice(0, -1)) {
    expect([status, extensions.retryAfter]).toEqual([503, expect.any(Number)]);
  }
});

const OPENTELEMETRY_READS = [
  ...["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_EXPORTER_OTLP_HEADERS"],
  "OTEL_BSP_MAX_QUEUE_SIZE",
];

it("names no variable that the service does not read", () => {
  // The last is Node's.
  const read = [...settings().map(({ name }) => name), "NODE_OPTIONS"];
  const known = [...read, ...OPENTELEMETRY_READS];
  const named = text.match(/`[A-Z]+(?:_[A-Z]+)+(?==|`)/g) ?? [];
  for (const name of named) expect(known).toContain(name.slice(1));
});

it("names the bound of V8's young objects that npm start, the image and the benchmarks have", () => {
  const [named] = /--max-semi-space-size=\d+/.exec(page("operations")) ?? [];
  for (const file of ["package.json", "Dockerfile", "bench/servers/start.ts"]) {
    const given = readFileSync(new URL(`../../${file}`, import.meta.url), "utf8");
    expect([file, /--max-semi-space-size=\d+(?=.*server\/main|"\];$)/m.exec(given)?.[0]]).toEqual([
      ...[file, named],
    ]);
  }
});

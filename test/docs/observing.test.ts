// deploy/: the dashboard and the alerts ask for metrics and labels that a service has, and each alert leads to its runbook.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { IndexerStatus } from "../../chain/index-status.ts";
import { aTrade, registerMarkets, write } from "../factories.ts";
import { serveDatabase } from "../served.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string }[];
}

const { groups } = parse(read("deploy/prometheus/alerts.yml")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read("deploy/grafana/dashboard.json")) as {
  templating: { list: { name: string; query: string }[] };
  panels: Panel[];
};
const panels = dashboard.panels.filter(({ type }) => type !== "row");
const expressions: [string, string][] = [
  ...rules.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }): [string, string] => [title, expr]),
  ),
  ...dashboard.templating.list.map(({ name, query }): [string, string] => [name, query]),
];

const indexer = new IndexerStatus();
const { app } = serveDatabase(
  async (writer) => {
    await registerMarkets(writer);
    await write(writer, { trades: [aTrade()] });
  },
  { metrics: { isPublic: true }, indexer },
);

/** The labels of each series that the service has, by its name. */
const series = new Map<string, Set<string>>();

beforeAll(async () => {
  // What has a label only once it happens.
  indexer.report({ event: "request", method: "eth_blockNumber", outcome: "ok" });
  await app.request.get("/v2/prices");
  await app.request.post("/graphql").send({ query: "{ nothing }" });
  while (app.over.length < 2) await new Promise(setImmediate);
  const { text } = await app.request.get("/metrics");
  for (const [, name = "", labels = ""] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = series.get(name) ?? new Set<string>();
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label);
    series.set(name, known);
  }
  // A gauge that is not known yet has no sample.
  for (const [, name = ""] of text.matchAll(/^# TYPE (\w+) gauge$/gm)) {
    if (!series.has(name)) series.set(name, new Set());
  }
});

/** Of Prometheus. */
const OF_THE_SCRAPE = ["job", "instance"];

it("asks for something in each alert and each panel", () => {
  expect(rules.length).toBeGreaterThan(10);
  expect(panels.length).toBeGreaterThan(20);
  for (const { title, targets } of panels) {
    expect([title, (targets ?? []).length > 0]).toEqual([title, true]);
  }
});

it.each(expressions.filter(([name]) => name !== "source"))(
  "%s asks for metrics and labels that the service has: %s",
  (_, expression) => {
    const names = expression.match(/\b(?:dex|process|nodejs)_\w+/g) ?? [];
    expect(names).not.toEqual([]);
    const known = new Set(OF_THE_SCRAPE);
    for (const name of names) {
      expect([...series.keys()]).toContain(name);
      for (const label of series.get(name)!) known.add(label);
    }
    const selected = [...expression.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label);
    const grouped = [...expression.matchAll(/\b(?:by|on) \(([^)]+)\)/g)].flatMap(([, labels]) =>
      labels!.split(", "),
    );
    for (const label of [...selected, ...grouped]) expect([...known]).toContain(label);
  },
);

it("links each alert to a section of docs/operations.md with its name, and has one for no other", () => {
  const sections = read("docs/operations.md").split("## Alerts\n")[1]!.split(/^## /m)[0]!;
  const titles = [...sections.matchAll(/^### (.+)$/gm)].map(([, title]) => title!);
  expect(titles).toEqual(rules.map(({ alert }) => alert));
  for (const { alert, labels, annotations } of rules) {
    expect(annotations.runbook_url).toBe(
      `{{ $externalLabels.docs }}/operations.md#${alert.toLowerCase()}`,
    );
    expect(annotations.summary).not.toBe("");
    expect(["page", "ticket"]).toContain(labels.severity);
  }
});

it("scrapes the job that the alerts name, and loads them", () => {
  const config = parse(read("deploy/prometheus/prometheus.yml")) as {
    global: { external_labels: Record<string, string> };
    rule_files: string[];
    scrape_configs: { job_name: string; metrics_path?: string }[];
  };
  expect(config.rule_files).toEqual(["alerts.yml"]);
  expect(config.global.external_labels).toHaveProperty("docs");
  const [scrape] = config.scrape_configs;
  expect(rules[0]!.expr).toContain(`job="${scrape!.job_name}"`);
  expect(scrape).not.toHaveProperty("metrics_path");
});

it("says what each panel of the dashboard shows, and lays none over another", () => {
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const taken = new Set<string>();
  for (const { title, type, description, gridPos } of dashboard.panels) {
    if (type !== "row") expect([title, description]).toEqual([title, expect.stringMatching(/\.$/)]);
    const { x, y, w, h } = gridPos;
    expect(x + w).toBeLessThanOrEqual(24);
    for (let n = 0; n < w * h; n += 1) {
      const cell = `${x + (n % w)} ${y + Math.floor(n / w)}`;
      expect([title, taken.has(cell)]).toEqual([title, false]);
      taken.add(cell);
    }
  }
});

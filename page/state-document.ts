// The document of the service's own state, in words.
import { documentOf } from "./document.ts";
import { html, type Html } from "./html.ts";
import type { ServiceState, StatedLimits } from "./service-state.ts";
import { momentOf } from "./shown-figures.ts";

type Line = [title: string, value: string | Html];

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

const UNITS = [
  { seconds: 86_400, name: "day" },
  { seconds: 3600, name: "hour" },
  { seconds: 60, name: "minute" },
  { seconds: 1, name: "second" },
];

function ageOf(iso: string, now: number): string {
  const age = Math.max(0, Math.floor((now - Date.parse(iso)) / 1000));
  const unit = UNITS.find(({ seconds }) => age >= seconds) ?? { seconds: 1, name: "second" };
  return `${counted(Math.floor(age / unit.seconds), unit.name)} ago`;
}

const UNREADABLE = "cannot be read at the moment";

function headLines(head: ServiceState["head"], now: number): Line[] {
  if (head === "unread") return [["Head", UNREADABLE]];
  if (head === undefined) return [["Head", "no block is written yet"]];
  const { block, time, hash, digest, basis } = head;
  return [
    ["Head", `block ${block}`],
    ["Written in", html`${momentOf(time)} UTC`],
    ["Age", `${ageOf(time, now)}, by the clock of the service`],
    ["Hash", hash ?? "none, as the source has none"],
    ["Digest of all facts up to it", digest ?? "none"],
    ["Filled by", sourceOf(basis)],
  ];
}

type Basis = Exclude<ServiceState["head"], "unread" | undefined>["basis"];

function sourceOf(basis: Basis): string {
  if (basis?.exchange == null) return "other means than an indexer";
  return `an indexer, from ${basis.exchange} (${basis.kind ?? "unknown kind"}) on the chain ${basis.chainId ?? "unknown"}, since block ${basis.firstBlock}`;
}

function databaseOf(replication: ServiceState["replication"]): string {
  if (replication === "unread") return UNREADABLE;
  const { isStandby, lag, receivers } = replication;
  const copied = receivers === 0 ? "none" : String(receivers);
  if (!isStandby) return `a primary; replicas that follow it: ${copied}`;
  const replayed =
    lag === null
      ? "it has replayed no transaction yet"
      : `the last transaction that it replayed is ${counted(lag, "second")} old`;
  return `a standby; ${replayed}; replicas that follow it: ${copied}`;
}

function indexerOf(reasons: ServiceState["indexer"]): string {
  if (reasons === undefined) return "none in this process";
  return reasons.length === 0 ? "up to date" : reasons.join("; ");
}

function limitLines(limits: StatedLimits): Line[] {
  const upTo = (count: number, one: string, many?: string): string =>
    count === 0 ? "no limit" : counted(count, one, many);
  return [
    ["Requests of a client", `${upTo(limits.requestsAMinute, "request")} a minute`],
    ["Requests of a client at once", upTo(limits.requests, "request")],
    ["GraphQL operations of a client at once", upTo(limits.operations, "operation")],
    ["Streams of a client", counted(limits.streams, "stream")],
    ["Streams of all clients", counted(limits.allStreams, "stream")],
    ["Page of GraphQL", counted(limits.page, "row")],
    ["Cost of a GraphQL operation", counted(limits.cost, "point")],
    ["Body of a request", counted(limits.bodyBytes, "byte")],
    ["Oldest head with which it serves", upTo(limits.maxHeadAge, "second")],
    ["Greatest lag of a standby", upTo(limits.maxReplicaLag, "second")],
  ];
}

/** The id is what the module compares. */
const listOf = (name: string, lines: readonly Line[]): Html =>
  html`<dl id="${name}" data-part>
    ${lines.map(
      ([title, value]) =>
        html`<div>
          <dt>${title}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;

export function stateDocument(
  { version, reasons, indexer, head, replication, limits }: ServiceState,
  now: number,
): string {
  const isReady = reasons.length === 0;
  return documentOf({
    title: "State of the service",
    description: "Whether the service serves, its head, its database, its indexer and its limits.",
    page: "state",
    main: html`<main id="page" data-page="state">
      <h1>State of the service</h1>
      <div role="status" id="readiness" data-part>
        ${
          isReady
            ? html`<p class="connection live">The service is ready.</p>`
            : html`<p class="connection lost">The service is not ready:</p>
                <ul>
                  ${reasons.map((reason) => html`<li>${reason}</li>`)}
                </ul>`
        }
      </div>
      <div class="lists">
        <section aria-labelledby="head-title">
          <h2 id="head-title">Head</h2>
          ${listOf("head", headLines(head, now))}
        </section>
        <section aria-labelledby="service-title">
          <h2 id="service-title">Service</h2>
          ${listOf("service", [
            ["Version", version],
            ["Process", "alive, as it has sent this page"],
            ["Database", databaseOf(replication)],
            ["Indexer", indexerOf(indexer)],
            ["Asked at", html`${momentOf(new Date(now).toISOString())} UTC`],
          ])}
        </section>
        <section aria-labelledby="limits-title">
          <h2 id="limits-title">Limits</h2>
          ${listOf("limits", limitLines(limits))}
        </section>
      </div>
    </main>`,
  });
}

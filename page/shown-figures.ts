// Tables, figures and names in the documents of the server.
import { compact, placesOf, shortened, shortPercent } from "./client/decimal.js";
import { hasPercent, hasPrice, hasSpread } from "./client/market-order.js";
import type { SummaryRecord } from "../market/queries/summaries.ts";
import { html, type Html } from "./html.ts";

export const tableOf = (
  caption: string,
  headings: readonly (string | Html)[],
  rows: readonly Html[],
): Html =>
  html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;

export const cells = (values: readonly (string | Html)[]): Html[] =>
  values.map((value) => html`<td>${value}</td>`);

/** Shortened for the eye, with all its digits behind it. */
export const numberOf = (value: string, text = shortened(value)): Html =>
  html`<data value="${value}" title="${value}">${text}</data>`;

/** REST gives "0" for a price that does not exist. */
export const priceOf = (value: string, exists = value !== "0"): Html | string => {
  if (!exists) return "–";
  return value === "0" ? numberOf("0") : numberOf(value, shortened(value, placesOf(value)));
};

export const priceIn = (
  summary: SummaryRecord,
  id: "last" | "high" | "low" | "vwap" | "bid" | "ask",
): Html | string => priceOf(summary[id], hasPrice(summary, id));

export const spreadOf = (summary: SummaryRecord): Html | string =>
  priceOf(summary.spread, hasSpread(summary));

export const momentOf = (iso: string): Html =>
  html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 19).replace("T", " ")}</time>`;

export const percentOf = (summary: SummaryRecord): Html | string =>
  hasPercent(summary) ? html`${numberOf(summary.percent, shortPercent(summary.percent))} %` : "–";

/** Of the last 24 hours, in units of the quote. */
export const volumeOf = ({ quoteVol }: SummaryRecord, quote: string): Html =>
  html`${numberOf(quoteVol, compact(quoteVol))} ${symbolOf(quote)}`;

/** Of the last 24 hours, with the market whose price makes the dollars. */
export function dollarsOf(
  volumeInUsd: string | null,
  through: string | null = null,
): Html | string {
  if (volumeInUsd === null) return "–";
  const shown = numberOf(volumeInUsd, `$${compact(volumeInUsd)}`);
  return through === null ? shown : html`<small>via ${symbolOf(through)}</small> ${shown}`;
}

/** It can be written from right to left, and be cut where it is long. */
export const symbolOf = (text: string): Html => html`<bdi title="${text}">${text}</bdi>`;

export const nameOf = ({ base, quote }: { base: string; quote: string }): Html =>
  html`${symbolOf(base)}/${symbolOf(quote)}`;

/** A link to the market. Browsers resolve a segment `.` or `..`, also if it is encoded: this market has no link. */
export const linkTo = (pair: { base: string; quote: string }): Html => {
  const symbols = [pair.base, pair.quote];
  if (symbols.some((symbol) => symbol === "." || symbol === "..")) return nameOf(pair);
  return html`<a href="/markets/${symbols.map(encodeURIComponent).join("/")}">${nameOf(pair)}</a>`;
};

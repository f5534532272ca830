// The document of the files of each day: what there is, how large it is, and how to read it.
import { documentOf } from "./document.ts";
import { html, type Html } from "./html.ts";
import { tableOf } from "./shown-figures.ts";
import type { ListedDay, ListedFile } from "../db/export/manifest.ts";

/** By the headings of their columns. */
const KINDS = {
  ...{ Blocks: "blocks", Trades: "trades", Offers: "offers", Ends: "ends" },
  ...{ Pools: "pools", Candles: "candles" },
};

/** Older ones are in the manifest. */
const SHOWN = 400;

/** DuckDB's statements: the files by their manifest, and a question to them. */
export const duckdbLines = (base: string): string[] => [
  `set variable base = '${base}';`,
  "set variable trades = (select list(getvariable('base') || file.name) from (select unnest(day.files) as file " +
    "from (select unnest(days) as day from read_json(getvariable('base') || 'manifest.json'))) " +
    "where file.kind = 'trades' and file.name like '%.parquet');",
  "select lot_gem, bid_gem, count(*) as trades, sum(lot_amt) as lot_amt, sum(bid_amt) as bid_amt, count(beyond) as beyond " +
    "from read_parquet(getvariable('trades')) group by all order by trades desc;",
];

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** To three digits at least: the manifest has every byte. */
export function sizeOf(bytes: number): string {
  const unit = Math.min(Math.floor(Math.max(0, String(bytes).length - 1) / 3), UNITS.length - 1);
  const size = bytes / 1000 ** unit;
  return `${size.toFixed(unit === 0 || size >= 100 ? 0 : 1)} ${UNITS[unit] ?? ""}`;
}

const linkTo = ({ name, bytes }: ListedFile, text: string): Html =>
  html`<a href="/v2/files/${name}">${text}</a> ${sizeOf(bytes)}`;

function cellOf({ files }: ListedDay, kind: string): Html {
  const [csv, parquet] = files.filter((file) => file.kind === kind);
  if (csv === undefined || parquet === undefined) return html`<td>–</td>`;
  return html`<td>${csv.rows}: ${linkTo(csv, "CSV")}, ${linkTo(parquet, "Parquet")}</td>`;
}

export const filesDocument = (days: readonly ListedDay[], base: string): string =>
  documentOf({
    title: "Files of each day",
    description: "Blocks, trades, offers and candles of each day, as CSV and Parquet.",
    main: html`<main>
      <h1>Files of each day</h1>
      <p>
        What was recorded on each day in UTC, from when nothing of it can change any more. Amounts
        are exact. <a href="/v2/files/manifest.json">The manifest</a> has the SHA-256 of every file,
        and the digest of all facts up to the end of each day.
      </p>
      <h2>With DuckDB</h2>
      <pre><code>${duckdbLines(base).join("\n")}</code></pre>
      ${
        days.length === 0
          ? html`<p>No day has been exported yet.</p>`
          : tableOf(
              "Rows and sizes of each day",
              ["Day", ...Object.keys(KINDS)],
              days
                .slice(-SHOWN)
                .toReversed()
                .map(
                  (day) =>
                    html`<tr>
                      <th scope="row">${day.day}</th>
                      ${Object.values(KINDS).map((kind) => cellOf(day, kind))}
                    </tr>`,
                ),
            )
      }
    </main>`,
  });

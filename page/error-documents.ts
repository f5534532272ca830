// The documents where there is nothing to show.
import { documentOf } from "./document.ts";
import { html } from "./html.ts";
import { nameOf } from "./shown-figures.ts";

export const unknownMarketDocument = (base: string, quote: string): string =>
  documentOf({
    title: "Unknown market",
    description: "No such market.",
    main: html`<main>
      <h1>Unknown market</h1>
      <p>
        No pair ${nameOf({ base, quote })} is registered. A pair is registered in one direction.
        <a href="/">All markets</a>
      </p>
    </main>`,
  });

/** What names a block, as the field of a market's page takes it. */
const BLOCK_NAMES = [
  ["block", "its number", "20511"],
  [
    "hash",
    "0x and 64 hexadecimal digits",
    "0x8f3c1f0e0e1d5b0f6c8c2f3a9d7b6e5a4c3b2a19087f6e5d4c3b2a1908f7e6d5",
  ],
  ["time", "in ISO 8601 UTC, with seconds", "2026-01-31T12:00:00Z"],
] as const;

/** What the query string names a block by. */
function askedIn(url: string): string {
  const given = new URLSearchParams(/\?(.*)$/s.exec(url)?.[1] ?? "");
  return BLOCK_NAMES.flatMap(([name]) => given.getAll(name)).join(", ");
}

/** Where a past block is asked for that is none. */
export const absentBlockDocument = (
  { base, quote }: { base: string; quote: string },
  message: string,
  url: string,
): string =>
  documentOf({
    title: "No such block",
    description: "The market has no figures as of this block.",
    main: html`<main>
      <h1>${nameOf({ base, quote })}: no such block</h1>
      <p>Asked for: <bdi>${askedIn(url)}</bdi></p>
      <p>${message}.</p>
      <p>A block is named in one of three ways:</p>
      <ul>
        ${BLOCK_NAMES.map(
          ([name, form, example]) => html`<li>${name}: ${form}, such as <bdi>${example}</bdi></li>`,
        )}
      </ul>
      <p><a href="?">The market now</a></p>
    </main>`,
  });

/** Where a page without a history is asked for as of a block. */
export const ofHeadDocument = (message: string): string =>
  documentOf({
    title: "No such page",
    description: "The page is of the head alone.",
    main: html`<main>
      <h1>No such page</h1>
      <p>${message}. <a href="?">The page now</a></p>
    </main>`,
  });

/** Where the address of an account's page is none, or its pages are none. */
export const badAccountDocument = (given: string, message: string): string =>
  documentOf({
    title: "No such account",
    description: "The address of the page names no account.",
    main: html`<main>
      <h1>No such account</h1>
      <p>Asked for: <bdi>${given}</bdi></p>
      <p>${message}. <a href="/">All markets</a></p>
    </main>`,
  });

export const noFilesDocument = (): string =>
  documentOf({
    title: "Files of each day",
    description: "No day has been exported yet.",
    main: html`<main>
      <h1>Files of each day</h1>
      <p>
        No day has been exported yet. With <code>FILES_DIR</code> the service exports each day when
        it is final. <a href="/">All markets</a>
      </p>
    </main>`,
  });

const RETRY_SECONDS = 5;

export const unavailableDocument = (message: string): string =>
  documentOf({
    title: "The markets cannot be shown",
    description: "The markets cannot be shown at the moment.",
    refresh: RETRY_SECONDS,
    main: html`<main>
      <h1>The markets cannot be shown at the moment</h1>
      <p>${message}. This page tries again every ${RETRY_SECONDS} seconds.</p>
    </main>`,
  });

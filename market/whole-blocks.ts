// Reads a page of trades that has whole blocks only.
import type { CurrentPlace } from "./place.ts";

interface Trade {
  id: number | string;
  block: number;
  time: string;
}

interface WholeBlocks<Row> {
  rows: Row[];
  /** Where the page ends: `now` itself if nothing follows. */
  place: CurrentPlace;
}

/** `find` returns the first trades, oldest first. A page has `page` trades at most, unless one block has more. */
export async function readWholeBlocks<Row extends Trade>(
  find: (limit: number) => Promise<Row[]>,
  { page, now }: { page: number; now: CurrentPlace },
): Promise<WholeBlocks<Row>> {
  for (let limit = page + 1; ; limit *= 2) {
    const rows = await find(limit);
    const beyond = rows[limit - 1];
    if (beyond === undefined) return { rows, place: now };
    // The last block may be cut: it belongs to the next page.
    const whole = rows.filter(({ block }) => block < beyond.block);
    const last = whole.at(-1);
    if (last !== undefined) {
      const { id, block, time } = last;
      return { rows: whole, place: { ...now, block, time, trade: Number(id) } };
    }
  }
}

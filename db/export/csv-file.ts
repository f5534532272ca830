// Makes the bytes of a CSV file (RFC 4180, UTF-8), compressed by gzip.
import { Gzip } from "fflate";
import type { Kind, RowSink, Value } from "./format.ts";

/** What is compressed at once: with other pieces the same text could have other bytes. */
const PIECE_BYTES = 65_536;

const encoder = new TextEncoder();

/** A value that is null is empty; no text is. */
export function csvLine(values: readonly Value[]): string {
  return `${values.map(csvValue).join(",")}\n`;
}

function csvValue(value: Value): string {
  const text = value === null ? "" : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * By a library in JavaScript: the bytes of Node's zlib depend on the processor and on the version of Node. The header
 * has neither a time nor a name.
 */
export class CsvFile implements RowSink {
  readonly #made: Uint8Array[] = [];
  readonly #gzip = new Gzip({ level: 6, mtime: 0 }, (bytes) => this.#made.push(bytes));
  #waiting: Uint8Array[] = [];
  #bytes = 0;

  constructor({ columns }: Kind) {
    this.#text(csvLine(columns.map(({ name }) => name)));
  }

  add(rows: readonly (readonly Value[])[]): Uint8Array[] {
    this.#text(rows.map(csvLine).join(""));
    return this.#made.splice(0);
  }

  end(): Uint8Array[] {
    this.#gzip.push(Buffer.concat(this.#waiting), true);
    return this.#made.splice(0);
  }

  #text(text: string): void {
    const bytes = encoder.encode(text);
    this.#waiting.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes < PIECE_BYTES) return;
    const whole = Buffer.concat(this.#waiting);
    const end = whole.length - (whole.length % PIECE_BYTES);
    for (let at = 0; at < end; at += PIECE_BYTES) {
      this.#gzip.push(whole.subarray(at, at + PIECE_BYTES));
    }
    this.#waiting = [whole.subarray(end)];
    this.#bytes = whole.length - end;
  }
}

// Counts what JSON is made of, since its values can take fifty times the memory of its text.

/**
 * Lists, objects and members: each takes some 40 bytes, however short its text. 32 MB of logs have 900,000, and 32 MB of
 * `[` would end the process.
 */
export const MAX_JSON_PARTS = 1_500_000;

const [COMMA, LIST, OBJECT] = Buffer.from(",[{");

/** Of a piece of the text; those in strings count too. */
export function jsonPartsOf(piece: Uint8Array): number {
  let parts = 0;
  for (const byte of piece) {
    if (byte === COMMA || byte === LIST || byte === OBJECT) parts += 1;
  }
  return parts;
}

// What makes the bytes of a file of its rows.

/** Of a column: text, but for integers and booleans. */
export type Value = string | number | boolean | null;

export interface RowSink {
  /** The bytes that are ready: they depend on the rows alone, not on how many come at once. */
  add: (rows: readonly (readonly Value[])[]) => Uint8Array[];
  /** The last bytes. */
  end: () => Uint8Array[];
}

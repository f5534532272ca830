// Makes the bytes of a Parquet file, row group by row group.
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { FORMAT, type Column, type Kind, type RowSink, type Value } from "./format.ts";

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];

/** What is held in memory at once. */
const ROW_GROUP = 10_000;

const PRECISION = 38;
const SCALE = 18;
const BEYOND = 10n ** BigInt(PRECISION);

/** Of a row with a decimal that the type does not hold: a JSON object of its exact values, by column. */
const OVERFLOW: Column = { name: "beyond", type: "text", isNullable: true };

const TYPES: Record<Column["type"], Partial<SchemaElement>> = {
  integer: { type: "INT32" },
  boolean: { type: "BOOLEAN" },
  text: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  time: {
    type: "INT64",
    converted_type: "TIMESTAMP_MICROS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
  },
  decimal: {
    type: "FIXED_LEN_BYTE_ARRAY",
    type_length: 16,
    converted_type: "DECIMAL",
    ...{ precision: PRECISION, scale: SCALE },
    logical_type: { type: "DECIMAL", precision: PRECISION, scale: SCALE },
  },
};

const elementOf = ({ name, type, isNullable }: Column): SchemaElement => ({
  name,
  repetition_type: isNullable === true || type === "decimal" ? "OPTIONAL" : "REQUIRED",
  ...TYPES[type],
});

/** In units of the last of 18 digits. No amount and no price is negative or has more digits. */
function unscaled(decimal: string): bigint {
  const [whole = "", fraction = ""] = decimal.split(".");
  if (fraction.length > SCALE)
    throw new Error(`${decimal} has more than ${SCALE} fractional digits`);
  return BigInt(whole + fraction.padEnd(SCALE, "0"));
}

/** In microseconds since 1970, of a text with six fractional digits. */
const micros = (time: string): bigint =>
  BigInt(Date.parse(`${time.slice(0, -4)}Z`)) * 1000n + BigInt(time.slice(-4, -1));

type Stored = string | number | boolean | bigint | null;

export class ParquetFile implements RowSink {
  readonly #kind: Kind;
  readonly #columns: readonly Column[];
  readonly #bytes = new ByteWriter();
  readonly #writer: ParquetWriter;
  #data: Stored[][];

  constructor(kind: Kind) {
    this.#kind = kind;
    const hasDecimals = kind.columns.some(({ type }) => type === "decimal");
    this.#columns = hasDecimals ? [...kind.columns, OVERFLOW] : kind.columns;
    this.#data = this.#columns.map(() => []);
    const root: SchemaElement = { name: "schema", num_children: this.#columns.length };
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: [root, ...this.#columns.map(elementOf)],
      // Of the library itself, in JavaScript.
      codec: "SNAPPY",
      createdBy: `dex-market-data files ${FORMAT}`,
    });
  }

  add(rows: readonly (readonly Value[])[]): Uint8Array[] {
    const ready: Uint8Array[] = [];
    for (const row of rows) {
      this.#add(row);
      if (this.#rows === ROW_GROUP) ready.push(...this.#writeGroup());
    }
    return ready;
  }

  end(): Uint8Array[] {
    const last = this.#rows > 0 ? this.#writeGroup() : [];
    void this.#writer.finish();
    return [...last, this.#take()];
  }

  get #rows(): number {
    return this.#data[0]?.length ?? 0;
  }

  #add(row: readonly Value[]): void {
    const beyond: Record<string, string> = {};
    for (const [n, { name, type }] of this.#kind.columns.entries()) {
      const value = row[n] ?? null;
      let stored: Stored = value;
      if (type === "time") stored = micros(String(value));
      if (type === "decimal" && value !== null) {
        stored = unscaled(String(value));
        if (stored >= BEYOND) {
          beyond[name] = String(value);
          stored = null;
        }
      }
      this.#data[n]?.push(stored);
    }
    if (this.#columns.length > this.#kind.columns.length) {
      const isBeyond = Object.keys(beyond).length > 0;
      this.#data.at(-1)?.push(isBeyond ? JSON.stringify(beyond) : null);
    }
  }

  #writeGroup(): Uint8Array[] {
    const columnData = this.#columns.map(({ name }, n) => ({ name, data: this.#data[n] ?? [] }));
    void this.#writer.write({ columnData, rowGroupSize: ROW_GROUP });
    this.#data = this.#columns.map(() => []);
    return [this.#take()];
  }

  /** The bytes so far; the writer goes on counting from where it is in the file. */
  #take(): Uint8Array {
    const taken = this.#bytes.getBytes().slice();
    this.#bytes.index = 0;
    return taken;
  }
}

// Turns a CSV file into checked rows.
import { readCsv, type CsvRow } from "./read-csv.ts";
import type { Column, Format } from "./csv-columns.ts";
import { LoadError } from "./load-error.ts";
import { NotAccepted } from "./values.ts";

/** One column of the file's header. */
interface Field extends Column {
  name: string;
}

/**
 * Reads and checks the rows of a CSV file. Error messages call the file `name`. A row has no property
 * for an empty optional column. For the first invalid value throws a LoadError that names the file,
 * line, column, the value and what is accepted.
 */
export async function* readRows<Row>(
  path: string,
  name: string,
  format: Format<Row>,
): AsyncGenerator<Row & { line: number }> {
  let fields: Field[] | undefined;
  for await (const csvRows of readCsv(path, name)) {
    for (const csvRow of csvRows) {
      if (fields === undefined) fields = readHeader(csvRow, name, format);
      else yield readRow(csvRow, name, fields, format);
    }
  }
  if (fields === undefined) {
    throw new LoadError(`${name} is empty; its first line must name the columns ${listed(format)}`);
  }
}

function listed<Row>({ columns }: Format<Row>): string {
  const all = Object.entries<{ required: boolean }>(columns);
  const names = (required: boolean): string =>
    all
      .filter(([, column]) => column.required === required)
      .map(([name]) => name)
      .join(", ");
  return `${names(true)}; optional: ${names(false)}`;
}

function readHeader<Row>({ line, values }: CsvRow, name: string, format: Format<Row>): Field[] {
  const columns = format.columns as Record<string, Column | undefined>;
  const refuse = (problem: string): never => {
    throw new LoadError(`${name} line ${line}: ${problem}. Its columns are ${listed(format)}`);
  };
  const fields = values.map((column, at) => {
    if (values.indexOf(column) !== at) refuse(`column ${JSON.stringify(column)} appears twice`);
    if (format.derived.includes(column)) {
      refuse(`column "${column}" is not accepted, because the database derives it`);
    }
    const known = Object.hasOwn(columns, column) ? columns[column] : undefined;
    return known === undefined
      ? refuse(`column ${JSON.stringify(column)} is unknown`)
      : { name: column, ...known };
  });
  for (const [column, { required }] of Object.entries<{ required: boolean }>(format.columns)) {
    if (required && !values.includes(column)) refuse(`column "${column}" is missing`);
  }
  return fields;
}

function readRow<Row>(
  { line, values }: CsvRow,
  name: string,
  fields: readonly Field[],
  format: Format<Row>,
): Row & { line: number } {
  if (values.length !== fields.length) {
    throw new LoadError(
      `${name} line ${line}: the row has ${values.length} values, but the header names ` +
        `${fields.length} columns`,
    );
  }
  const refuse = (column: string, accepted: string): never => {
    const value = values[fields.findIndex((field) => field.name === column)] ?? "";
    throw new LoadError(
      `${name} line ${line}, column ${column}: ${shown(value)} is not accepted; expected ${accepted}`,
    );
  };
  const row: Record<string, unknown> = { line };
  for (const [at, field] of fields.entries()) {
    const text = values[at] ?? "";
    if (text === "" && !field.required) continue;
    try {
      row[field.name] = field.read(text);
    } catch (error) {
      if (!(error instanceof NotAccepted)) throw error;
      refuse(field.name, error.message);
    }
  }
  const checked = row as Row & { line: number };
  format.check?.(checked, (column, accepted) => refuse(String(column), accepted));
  return checked;
}

/** The value as JSON, cut to 120 characters. */
const shown = (value: string): string =>
  JSON.stringify(value.length > 120 ? `${value.slice(0, 120)}…` : value);

// Reads the version of a table tagged @appendOnly in the statement that reads a page of it. A total of
// that version belongs to the page's snapshot without a transaction.
import { Step, type ExecutionDetails } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import type { PgResource } from "postgraphile/@dataplan/pg";
import { selectOf, selectValue, type AnyConnection } from "./internals.ts";
import type { AppendOnly } from "./append-only.ts";

/** Two snapshots with the same version see the same rows. */
export interface TableVersion {
  newestId: bigint;
  epoch: string;
}

type Row = readonly (string | null)[];

/** The table version that a page was read at; null if the page is empty. */
export class TableVersionStep extends Step<TableVersion | null> {
  static override $$export = { moduleName: "table-version", exportName: "TableVersionStep" };
  override isSyncAndSafe = true;
  readonly #rowsDep: number;
  readonly #selectDep: number;
  readonly #version: SQL;
  #position = -1;

  constructor(
    $connection: AnyConnection,
    resource: PgResource,
    { idColumn, epochTable }: AppendOnly,
  ) {
    super();
    this.#rowsDep = this.addDependency($connection.nodes() as Step);
    this.#selectDep = this.addDependency(selectOf($connection));
    // One value instead of two, because PostgreSQL sends it with each row. PostgreSQL evaluates the
    // subqueries once, because they do not depend on the row.
    const newestId = sql`(select max(${sql.identifier(idColumn)}) from ${resource.from as SQL})`;
    this.#version = sql`(select ${newestId} || ' ' || epoch from ${epochTable})`;
  }

  /** grafast may merge steps before `optimize`: only here is the step that selects the rows final. */
  override optimize(): this {
    const { step } = this.getDepOptions(this.#selectDep);
    this.#position = selectValue(step, () => this.#version);
    return this;
  }

  override execute({ indexMap, values }: ExecutionDetails): readonly (TableVersion | null)[] {
    const pages = values[this.#rowsDep];
    return indexMap((n) => {
      const [row] = (pages?.at(n) as readonly Row[] | null | undefined) ?? [];
      const [newestId, epoch] = row?.[this.#position]?.split(" ") ?? [];
      if (newestId === undefined || epoch === undefined) return null;
      return { newestId: BigInt(newestId), epoch };
    });
  }
}

// What the statement that reads a page of a table tagged @appendOnly sees beside its rows: the moment
// in the table's life that the page is of. Whatever is known of that moment is then of the page's own
// snapshot, with no transaction around it.
import { Step, type ExecutionDetails } from "postgraphile/grafast";
import { sql, type SQL } from "postgraphile/pg-sql2";
import type { PgResource } from "postgraphile/@dataplan/pg";
import { selectOf, selectValue, type AnyConnection } from "../grafast-internals.ts";
import type { AppendOnly } from "./append-only.ts";

/** A moment in the life of a table that is appended to. */
export interface Moment {
  /** The newest id of the whole table. */
  newest: bigint;
  epoch: string;
}

type Row = readonly (string | null)[];

/** The moment that a page is of, or null where it has no row to tell it by. */
export class PageMomentStep extends Step<Moment | null> {
  static override $$export = { moduleName: "page-moment", exportName: "PageMomentStep" };
  override isSyncAndSafe = true;
  readonly #rowsDep: number;
  readonly #selectDep: number;
  readonly #moment: SQL;
  #position = -1;

  constructor(
    $connection: AnyConnection,
    resource: PgResource,
    { idColumn, epochTable }: AppendOnly,
  ) {
    super();
    this.#rowsDep = this.addDependency($connection.nodes() as Step);
    this.#selectDep = this.addDependency(selectOf($connection));
    // One value, for it is sent with each row. It depends on none, and is read once.
    const newest = sql`(select max(${sql.identifier(idColumn)}) from ${resource.from as SQL})`;
    this.#moment = sql`(select ${newest} || ' ' || epoch from ${epochTable})`;
  }

  /** Only now is it known which step selects the rows: some are merged. */
  override optimize(): this {
    const { step } = this.getDepOptions(this.#selectDep);
    this.#position = selectValue(step, () => this.#moment);
    return this;
  }

  override execute({ indexMap, values }: ExecutionDetails): readonly (Moment | null)[] {
    const pages = values[this.#rowsDep];
    return indexMap((n) => {
      const [row] = (pages?.at(n) as readonly Row[] | null | undefined) ?? [];
      const [newest, epoch] = row?.[this.#position]?.split(" ") ?? [];
      if (newest === undefined || epoch === undefined) return null;
      return { newest: BigInt(newest), epoch };
    });
  }
}

// Answers each operation from one snapshot of the database, so that its totalCount is that of its nodes,
// and its fields are of one head. Each field of Query is a statement, and each totalCount another; a
// writer may commit between them.
//
// A transaction costs two more statements. An operation of one field without a total needs none, because
// it is one statement. An operation of one page and its total is first attempted without one, because the
// page's own statement often suffices for the total. If it does not, the attempt's result is discarded,
// and the operation runs in a transaction.
import { getOperationAST, Kind, type DocumentNode, type OperationDefinitionNode } from "graphql";
import type { SelectionSetNode } from "graphql";
import type { PgClient, WithPgClient } from "postgraphile/@dataplan/pg";
import { minBlockOf, noteHead, SELECT_HEAD } from "../../http/min-block.ts";
import { fragmentsOf } from "../fragments.ts";
import { ROWS, ROWS_TOTAL } from "./row-selections.ts";

const TOTALS = ["totalCount", ROWS_TOTAL];
const READS = new Set(["nodes", "edges", "pageInfo", ROWS, ...TOTALS]);
/** The fields of one page and its total that the page's statement returns. */
const OF_ONE_PAGE = new Set([ROWS, ROWS_TOTAL, "pageInfo", "__typename"]);

/** An operation that runs outside a transaction; collects whether its page and total are of one snapshot. */
export class Attempt {
  #reported: boolean | undefined;

  /** Each total reports whether it is of its page's snapshot. */
  report(holds: boolean): void {
    this.#reported = holds && this.#reported !== false;
  }

  /** Undefined if no total has reported, for example because its statement failed. */
  get holds(): boolean | undefined {
    return this.#reported;
  }
}

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Grafast {
    interface Context {
      /** Undefined in a transaction, and in an operation without a page and its total. */
      attempt?: Attempt | undefined;
    }
  }
}

interface OperationContext {
  withPgClient?: WithPgClient;
  attempt?: Attempt | undefined;
}

/** Whether the operation is one page, of one list, and its total. */
function isOnePage({ selectionSet }: OperationDefinitionNode): boolean {
  const [list, ...others] = selectionSet.selections;
  if (list?.kind !== Kind.FIELD || others.length > 0) return false;
  const fields = list.selectionSet?.selections ?? [];
  return (
    fields.every((field) => field.kind === Kind.FIELD && OF_ONE_PAGE.has(field.name.value)) &&
    fields.some((field) => field.kind === Kind.FIELD && field.name.value === ROWS_TOTAL)
  );
}

/**
 * Whether the operation has several fields of Query, or selects totalCount and anything else of a
 * connection, fragments included.
 */
function isSeveralStatements(document: DocumentNode, operation: OperationDefinitionNode): boolean {
  const fragments = fragmentsOf(document);
  const visited = new Set<unknown>();
  const reads: string[] = [];
  let roots = 0;
  const visit = ({ selections }: SelectionSetNode, isRoot: boolean): void => {
    for (const selection of selections) {
      const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
      const node = isSpread ? fragments.get(selection.name.value) : selection;
      if (node === undefined || visited.has(node)) continue;
      visited.add(node);
      if (node.kind === Kind.FIELD) {
        if (isRoot && !node.name.value.startsWith("__")) roots += 1;
        if (READS.has(node.name.value)) reads.push(node.name.value);
        if (node.selectionSet !== undefined) visit(node.selectionSet, false);
      } else {
        // Query is a Node too, so that its fields can be selected anywhere below `node`.
        visit(node.selectionSet, isRoot || node.typeCondition?.name.value === "Query");
      }
    }
  };
  visit(operation.selectionSet, true);
  return roots > 1 || (reads.length > 1 && TOTALS.some((total) => reads.includes(total)));
}

export interface Snapshot {
  withPgClient: WithPgClient;
  /** Commits after the last statement, and returns the connection to the pool. */
  end: () => void;
}

/** A transaction that begins with its first statement, and runs its statements one by one. */
export function makeSnapshot(
  withPgClient: WithPgClient,
  onBegin: (client: PgClient) => Promise<unknown> = () => Promise.resolve(),
): Snapshot {
  const ended = Promise.withResolvers<undefined>();
  let begun: Promise<PgClient> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const begin = (settings: Parameters<WithPgClient>[0]): Promise<PgClient> =>
    new Promise((resolve, reject) => {
      withPgClient(settings, async (client) => {
        await client.query({
          text: "begin isolation level repeatable read read only; savepoint begun",
        });
        await onBegin(client);
        resolve(client);
        await ended.promise;
        await last;
        // After an error this rolls back, which is the same for a reader.
        await client.query({ text: "commit" });
      }).catch(reject);
    });

  const inTurn: WithPgClient = async (settings, callback) => {
    const client = await (begun ??= begin(settings));
    const result = last.then(() => callback(client));
    // After the failure of one field, the others continue in the same snapshot.
    const goOn = (): Promise<unknown> => client.query({ text: "rollback to savepoint begun" });
    last = result.catch(goOn).catch(() => undefined);
    return result;
  };
  return { withPgClient: inTurn, end: () => ended.resolve(undefined) };
}

/** Runs the operation in a transaction. */
async function inSnapshot<T>(
  context: OperationContext,
  run: () => T,
  onBegin?: (client: PgClient) => Promise<unknown>,
): Promise<Awaited<T>> {
  const { withPgClient } = context;
  if (withPgClient === undefined) return await run();
  const snapshot = makeSnapshot(withPgClient, onBegin);
  context.withPgClient = snapshot.withPgClient;
  try {
    return await run();
  } finally {
    context.withPgClient = withPgClient;
    snapshot.end();
  }
}

/** Runs the operation without a transaction, and again in one if page and total differ in their snapshot. */
async function attempted<T>(context: OperationContext, run: () => T): Promise<Awaited<T>> {
  const attempt = new Attempt();
  context.attempt = attempt;
  try {
    const result = await run();
    // A response without its total, because of an error, is of one snapshot.
    const failed = attempt.holds === undefined && hasErrors(result);
    if (attempt.holds === true || failed) return result;
  } finally {
    context.attempt = undefined;
  }
  return inSnapshot(context, run);
}

const hasErrors = (result: unknown): boolean =>
  typeof result === "object" && result !== null && "errors" in result && result.errors != null;

export const SnapshotPlugin: GraphileConfig.Plugin = {
  name: "SnapshotPlugin",
  version: "1.0.0",
  description: "An operation is answered from one snapshot.",

  grafast: {
    middleware: {
      execute(next, { args }) {
        const context = args.contextValue as OperationContext;
        const operation = getOperationAST(args.document, args.operationName);
        const req = args.requestContext?.expressv4?.req;
        // The head must be of the snapshot, and reading it costs a statement.
        if (req !== undefined && minBlockOf(req) !== undefined) {
          return inSnapshot(context, next, async (client) => {
            const { rows } = await client.query<{ block: number }>(SELECT_HEAD);
            noteHead(req, rows[0]?.block ?? null);
          });
        }
        if (operation == null || !isSeveralStatements(args.document, operation)) return next();
        return isOnePage(operation) ? attempted(context, next) : inSnapshot(context, next);
      },
    },
  },
};

// Answers each operation from one snapshot of the database: its totalCount is that of its nodes, and
// its fields are of one head. Each field of Query is a statement, and each totalCount another; between
// them a writer may have committed.
//
// A transaction around them costs two more. An operation of one field without a total does without,
// for it is one statement. So, at first, does one of one page and its total: most totals can be told
// from what the page's own statement has seen. Where this one cannot, nothing of the attempt is shown,
// and the operation is run in a transaction.
import {
  Kind,
  type DocumentNode,
  type FragmentDefinitionNode,
  type InlineFragmentNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import type { PgClient, WithPgClient } from "postgraphile/@dataplan/pg";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { ROWS, ROWS_TOTAL } from "./row-selections.ts";

const TOTALS = ["totalCount", ROWS_TOTAL];
const READS = new Set(["nodes", "edges", "pageInfo", ROWS, ...TOTALS]);
/** What one page and its total are, fields that all come of the page's statement beside it. */
const OF_ONE_PAGE = new Set([ROWS, ROWS_TOTAL, "pageInfo", "__typename"]);

/** An operation that runs outside a transaction, and whether its page and total are of one moment. */
export class Attempt {
  #reported: boolean | undefined;

  /** Each total says of itself whether it is of its page's moment. */
  report(holds: boolean): void {
    this.#reported = holds && this.#reported !== false;
  }

  /** Undefined where no total has said so, as where its statement failed. */
  get holds(): boolean | undefined {
    return this.#reported;
  }
}

declare global {
  // The extension points of PostGraphile's types are namespaces.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Grafast {
    interface Context {
      /** Absent in a transaction, and where nothing is counted beside a page. */
      attempt?: Attempt | undefined;
    }
  }
}

interface OperationContext {
  withPgClient?: WithPgClient;
  attempt?: Attempt | undefined;
}

/** How an operation is run: as it is, in a transaction, or in one where an attempt without fails. */
type Way = "plain" | "snapshot" | "attempt";

function operationOf(
  document: DocumentNode,
  operationName: string | null,
): OperationDefinitionNode | undefined {
  return document.definitions.find(
    (definition) =>
      definition.kind === Kind.OPERATION_DEFINITION &&
      (operationName === null || definition.name?.value === operationName),
  ) as OperationDefinitionNode | undefined;
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
  const fragments = new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION
        ? [[definition.name.value, definition] as const]
        : [],
    ),
  );
  const reads: string[] = [];
  const visited = new Set<string>();
  let roots = 0;
  const visit = ({ selections }: SelectionSetNode, isRoot: boolean): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const name = selection.name.value;
        const fragment = fragments.get(name);
        if (fragment === undefined || visited.has(name)) continue;
        visited.add(name);
        visit(fragment.selectionSet, isRoot || isOfQuery(fragment));
        continue;
      }
      if (selection.kind === Kind.FIELD) {
        if (isRoot && !selection.name.value.startsWith("__")) roots += 1;
        if (READS.has(selection.name.value)) reads.push(selection.name.value);
      }
      if (selection.selectionSet === undefined) continue;
      const isFragment = selection.kind === Kind.INLINE_FRAGMENT;
      visit(selection.selectionSet, isFragment && (isRoot || isOfQuery(selection)));
    }
  };
  visit(operation.selectionSet, true);
  return roots > 1 || (reads.length > 1 && TOTALS.some((total) => reads.includes(total)));
}

/** Query is a Node too, so that its fields can be asked for anywhere below `node`. */
const isOfQuery = ({ typeCondition }: FragmentDefinitionNode | InlineFragmentNode): boolean =>
  typeCondition?.name.value === "Query";

/** The ways of operations, which grafserv's cache of parsed documents makes worth keeping. */
const known = new WeakMap<DocumentNode, Map<string | null, Way>>();

function wayOf({ document, operationName = null }: GrafastExecutionArgs): Way {
  const ofDocument = known.get(document) ?? new Map<string | null, Way>();
  known.set(document, ofDocument);
  const kept = ofDocument.get(operationName);
  if (kept !== undefined) return kept;
  const operation = operationOf(document, operationName);
  // A name that the document does not have is a client's own, of any length: it is not remembered.
  if (operation === undefined) return "plain";
  let way: Way = "plain";
  if (isSeveralStatements(document, operation)) way = isOnePage(operation) ? "attempt" : "snapshot";
  ofDocument.set(operationName, way);
  return way;
}

interface Snapshot {
  withPgClient: WithPgClient;
  /** Ends the transaction behind what was sent in it, and gives the connection back. */
  end: () => void;
}

/** A transaction, begun when something is first asked of it, whose statements run one by one. */
function makeSnapshot(withPgClient: WithPgClient): Snapshot {
  const ended = Promise.withResolvers<undefined>();
  let begun: Promise<PgClient> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const begin = (settings: Parameters<WithPgClient>[0]): Promise<PgClient> =>
    new Promise((resolve, reject) => {
      withPgClient(settings, async (client) => {
        await client.query({
          text: "begin isolation level repeatable read read only; savepoint begun",
        });
        resolve(client);
        await ended.promise;
        await last;
        // After an error this rolls back, which for a reader is the same.
        await client.query({ text: "commit" });
      }).catch(reject);
    });

  const inTurn: WithPgClient = async (settings, callback) => {
    const client = await (begun ??= begin(settings));
    const result = last.then(() => callback(client));
    // What one field fails by is not the others' fault; they go on in the same snapshot.
    const goOn = (): Promise<unknown> => client.query({ text: "rollback to savepoint begun" });
    last = result.catch(goOn).catch(() => undefined);
    return result;
  };
  return { withPgClient: inTurn, end: () => ended.resolve(undefined) };
}

/** Runs the operation in a transaction. */
async function inSnapshot<T>(context: OperationContext, run: () => T): Promise<Awaited<T>> {
  const { withPgClient } = context;
  if (withPgClient === undefined) return await run();
  const snapshot = makeSnapshot(withPgClient);
  context.withPgClient = snapshot.withPgClient;
  try {
    return await run();
  } finally {
    context.withPgClient = withPgClient;
    snapshot.end();
  }
}

/** Runs the operation without one, unless its page and total then are not of one moment. */
async function attempted<T>(context: OperationContext, run: () => T): Promise<Awaited<T>> {
  const attempt = new Attempt();
  context.attempt = attempt;
  try {
    const result = await run();
    // An answer that lacks its total for an error is of one moment: nothing is beside it.
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
        const way = wayOf(args);
        if (way === "plain") return next();
        return way === "attempt" ? attempted(context, next) : inSnapshot(context, next);
      },
    },
  },
};

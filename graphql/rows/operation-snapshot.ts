// Answers each operation from one snapshot of the database, so that its totalCount is that of its nodes,
// and its fields are of one head. Each field of Query is a statement, and each totalCount another; a
// writer may commit between them. PostGraphile sets no isolation level: https://github.com/graphile/crystal/issues/777
// and https://github.com/graphile/crystal/issues/2630.
//
// A transaction costs two more statements. An operation of one field without a total needs none, because
// it is one statement. An operation of one page and its total is first attempted without one, because the
// page's own statement often suffices for the total. If it does not, the attempt's result is discarded,
// and the operation runs in a transaction.
import {
  getOperationAST,
  Kind,
  type ArgumentNode,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from "graphql";
import type { PgClient, WithPgClient } from "postgraphile/@dataplan/pg";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import type { PageAttempt } from "#append-only-totals";
import { SELECT_HEAD } from "../../http/min-block.ts";
import { stateIn } from "../../http/request.ts";
// Declares `asOf` in the context.
import type {} from "../as-of/past-cursors.ts";
import { fragmentsOf, type Fragments } from "../fragments.ts";
import { isGiven, READ_BESIDE } from "../limits/beside-page.ts";
import { valuesOf } from "../limits/variable-values.ts";
import type { OperationTime } from "./operation-time.ts";
import { makeSnapshot, type Beginning } from "./read-transaction.ts";

const TOTAL = "totalCount";
const READS = new Set(["nodes", "edges", "pageInfo", TOTAL]);
/** The fields of one page and its total that the page's statement returns. */
const OF_ONE_PAGE = new Set(["nodes", "pageInfo", TOTAL, "__typename"]);

interface OperationContext extends Pick<Grafast.Context, "asOf"> {
  withPgClient?: WithPgClient;
  time?: OperationTime;
  isOnePage?: boolean;
  attempt?: PageAttempt | undefined;
}

/** Whether the operation is one page of one list, with columns only, and its total. */
function isOnePage(
  { document, schema }: { document: DocumentNode; schema: GraphQLSchema },
  { selectionSet }: OperationDefinitionNode,
): boolean {
  const [list, ...others] = selectionSet.selections;
  if (list?.kind !== Kind.FIELD || others.length > 0) return false;
  const declared = schema.getQueryType()?.getFields()[list.name.value];
  if (declared?.extensions.isCountedBesidePage !== true) return false;
  const fields = (list.selectionSet?.selections ?? []).filter((one) => one.kind === Kind.FIELD);
  const has = (name: string): boolean => fields.some((field) => field.name.value === name);
  const fragments = fragmentsOf(document);
  return (
    fields.length === list.selectionSet?.selections.length &&
    has("nodes") &&
    has(TOTAL) &&
    fields.every(
      ({ name, directives = [], selectionSet: inner }) =>
        OF_ONE_PAGE.has(name.value) &&
        directives.length === 0 &&
        (name.value !== "nodes" || inner === undefined || hasColumnsOnly(inner, fragments)),
    )
  );
}

/** A field that has fields may be a record that another statement reads. */
const hasColumnsOnly = ({ selections }: SelectionSetNode, fragments: Fragments): boolean =>
  selections.every((selection) => {
    if (selection.kind === Kind.FIELD) return selection.selectionSet === undefined;
    const fragment =
      selection.kind === Kind.FRAGMENT_SPREAD ? fragments.get(selection.name.value) : selection;
    return fragment !== undefined && hasColumnsOnly(fragment.selectionSet, fragments);
  });

/** How many statements an operation sends: one, several, or those of one page and its total. */
type Statements = "one" | "several" | "page";

/** How many statements the operation sends, and the arguments that each have it send several, unless they are null. */
interface Counted {
  sent: Statements;
  arguments: readonly ValueNode[];
}

/**
 * How many statements the operation sends, fragments included. Several are for several fields of Query, for totalCount and
 * anything else of a connection, and for what comes before a page with a cursor or an offset, or behind it.
 */
function countStatements(
  args: { document: DocumentNode; schema: GraphQLSchema },
  operation: OperationDefinitionNode,
): Counted {
  const { document } = args;
  const fragments = fragmentsOf(document);
  const visited = new Set<unknown>();
  const reads: string[] = [];
  const given: ArgumentNode[] = [];
  const sides = new Set<string>();
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
        given.push(...(node.arguments ?? []));
        for (const name of READ_BESIDE[node.name.value] ?? []) sides.add(name);
        if (node.selectionSet !== undefined) visit(node.selectionSet, false);
      } else {
        // Query is a Node too, so that its fields can be selected anywhere below `node`.
        visit(node.selectionSet, isRoot || node.typeCondition?.name.value === "Query");
      }
    }
  };
  visit(operation.selectionSet, true);
  const withTotal = reads.length > 1 && reads.includes(TOTAL);
  const ofTotal = withTotal && isOnePage(args, operation) ? "page" : "several";
  return {
    sent: roots > 1 ? "several" : withTotal ? ofTotal : "one",
    arguments: given.filter(({ name }) => sides.has(name.value)).map(({ value }) => value),
  };
}

/** A document is parsed for one schema, and kept. */
const statements = new WeakMap<OperationDefinitionNode, Counted>();

function statementsOf(
  args: Pick<GrafastExecutionArgs, "document" | "schema" | "variableValues">,
  operation: OperationDefinitionNode,
): Statements {
  const counted = statements.get(operation) ?? countStatements(args, operation);
  statements.set(operation, counted);
  if (counted.arguments.length === 0) return counted.sent;
  const variables = valuesOf(operation, args.variableValues ?? {});
  return counted.arguments.some((one) => isGiven(one, variables)) ? "several" : counted.sent;
}

/** Runs the operation in a transaction. */
export async function inSnapshot<T>(
  context: OperationContext,
  run: () => T,
  beginning?: Beginning,
): Promise<Awaited<T>> {
  const { withPgClient, time } = context;
  if (withPgClient === undefined) return await run();
  const snapshot = makeSnapshot(withPgClient, beginning);
  // Else what PostgreSQL refused behind a statement that took too long would be sent again.
  context.withPgClient = time?.within(snapshot.withPgClient) ?? snapshot.withPgClient;
  try {
    return await run();
  } finally {
    context.withPgClient = withPgClient;
    snapshot.end();
  }
}

/** Runs the operation without a transaction, and again in one if page and total differ in their snapshot. */
async function attempted<T>(context: OperationContext, run: () => T): Promise<Awaited<T>> {
  // Undefined if no total has reported, for example because its statement failed.
  const reported: { holds?: boolean } = {};
  const report = (isOfPage: boolean): void => {
    reported.holds = isOfPage && reported.holds !== false;
  };
  context.attempt = { report };
  try {
    const result = await run();
    // A response without its total, because of an error, is of one snapshot.
    const failed = reported.holds === undefined && hasErrors(result);
    if (reported.holds === true || failed) return result;
  } finally {
    context.attempt = undefined;
  }
  return inSnapshot(context, run);
}

/**
 * Runs an operation that should send one statement, and again in a transaction if it has sent more, as for the relations
 * of a function's rows. Later it begins with that.
 */
async function once<T>(
  context: OperationContext,
  operation: OperationDefinitionNode | null | undefined,
  run: () => T,
): Promise<Awaited<T>> {
  const { withPgClient } = context;
  if (withPgClient === undefined) return await run();
  let sent = 0;
  context.withPgClient = (settings, callback) => {
    sent += 1;
    return withPgClient(settings, callback);
  };
  try {
    const result = await run();
    if (sent < 2) return result;
  } finally {
    context.withPgClient = withPgClient;
  }
  if (operation != null) statements.set(operation, { sent: "several", arguments: [] });
  return inSnapshot(context, run);
}

const hasErrors = (result: unknown): boolean =>
  typeof result === "object" && result !== null && "errors" in result && result.errors != null;

export const SnapshotPlugin: GraphileConfig.Plugin = {
  name: "SnapshotPlugin",
  description: "An operation is answered from one snapshot.",

  grafast: {
    middleware: {
      execute(next, { args }) {
        const context = args.contextValue as OperationContext;
        const operation = getOperationAST(args.document, args.operationName);
        const state = stateIn(args.requestContext);
        // It is in a transaction.
        if (context.asOf !== undefined) return next();
        // The head must be of the snapshot, and reading it costs a statement.
        if (state?.minBlock !== undefined) {
          const onBegin = async (client: PgClient): Promise<void> => {
            const { rows } = await client.query<{ block: number }>(SELECT_HEAD);
            state.head = rows[0]?.block ?? null;
          };
          return inSnapshot(context, next, { onBegin });
        }
        const sent = operation == null ? "one" : statementsOf(args, operation);
        if (sent === "one") return once(context, operation, next);
        context.isOnePage = sent === "page";
        return context.isOnePage ? attempted(context, next) : inSnapshot(context, next);
      },
    },
  },
};

// Runs an operation with @asOf in one transaction, which reads as of the block that the directive names.
import {
  getOperationAST,
  getVariableValues,
  GraphQLError,
  type ExecutionResult,
  type OperationDefinitionNode,
} from "graphql";
import type { WithPgClient } from "postgraphile/@dataplan/pg";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { Absent } from "../../market/absent.ts";
import { beginAsOf, type PastBlock } from "../../market/queries/as-of.ts";
import { stateIn } from "../../http/request.ts";
import { inSnapshot } from "../rows/operation-snapshot.ts";
import { AS_OF, askedBlock, isAsOf } from "./directive.ts";
import { readsAsNow } from "./past-rows.ts";

/** Without a location, since no field is wrong. */
const failed = (error: unknown): ExecutionResult =>
  error instanceof Absent
    ? { errors: [new GraphQLError(error.message, { extensions: { code: "NO_SUCH_BLOCK" } })] }
    : { errors: [new GraphQLError("", { originalError: error as Error })] };

async function runAsOf(
  args: GrafastExecutionArgs,
  operation: OperationDefinitionNode,
  next: () => unknown,
  finality: number | undefined,
): Promise<unknown> {
  const { schema, variableValues = {} } = args;
  const directive = schema.getDirective(AS_OF);
  if (directive == null) throw new Error("the schema lacks @asOf");
  const { coerced, errors } = getVariableValues(
    schema,
    operation.variableDefinitions ?? [],
    variableValues ?? {},
  );
  if (errors !== undefined) return { errors };
  const asked = askedBlock(directive, operation, coerced);
  if (asked instanceof GraphQLError) return { errors: [asked] };

  const context = args.contextValue as { withPgClient?: WithPgClient };
  const state = stateIn(args.requestContext);
  let begun: PastBlock | undefined;
  let isExecuted: boolean | undefined;
  try {
    const result = await inSnapshot(
      context,
      async () => {
        // At once, because cursors need the block, and an operation without any statement is refused too.
        await context.withPgClient?.(null, () => Promise.resolve());
        isExecuted = true;
        return next();
      },
      {
        setUp: async (client) => {
          begun = await beginAsOf(
            { query: (statement) => client.query(statement) },
            asked,
            finality,
          );
          Object.assign(context, { asOf: begun, isBounded: true });
          if (state === undefined) return;
          state.asOf = begun.number;
          // The database has what X-Min-Block asks for; the answer is of an earlier block.
          if (state.minBlock !== undefined) state.head = begun.head;
        },
      },
    );
    // The operation has been planned.
    if (state !== undefined) state.isFinal = begun?.isFinal === true && !readsAsNow(operation);
    return result;
  } catch (error) {
    if (isExecuted === true) throw error;
    return failed(error);
  }
}

/** Comes before the plugin that gives other operations their snapshot. `finality` is as in makeFindAsOf. */
export const makeAsOfOperationPlugin = (finality: number | undefined): GraphileConfig.Plugin => ({
  name: "AsOfOperationPlugin",
  description: "Answers an operation with @asOf as of its block.",

  grafast: {
    middleware: {
      execute(next, { args }) {
        const operation = getOperationAST(args.document, args.operationName);
        if (operation == null || !isAsOf(operation)) return next();
        return runAsOf(args, operation, next, finality) as ReturnType<typeof next>;
      },
    },
  },
});

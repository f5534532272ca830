// Refuses a document that is more than it may be, before it is validated.
import type { GraphQLError } from "graphql";
import type { ExecutionConfig } from "postgraphile/grafserv";
import { documentProblem } from "./document-problem.ts";
import type { GraphqlLimits } from "./limits.ts";

type ParseAndValidate = ExecutionConfig["parseAndValidate"];

/** As many documents as grafserv keeps by itself. */
const KEPT_DOCUMENTS = 500;

/** Longer ones are looked at each time: keeping them would take more memory than it spares time. */
const LONGEST_KEPT = 5000;

/**
 * Makes the plugin. graphql-armor's rules would stand beside graphql's own, one of which is slow on
 * the very documents that are refused here, and its token limit does not fit grafserv, which takes
 * no options of its parser.
 */
export function makeDocumentLimitsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  /** What is wrong with documents that came before, the oldest first. */
  const problems = new Map<string, GraphQLError | undefined>();

  const problemOf = (query: string): GraphQLError | undefined => {
    if (problems.has(query)) return problems.get(query);
    const problem = documentProblem(query, limits);
    if (query.length > LONGEST_KEPT) return problem;
    problems.set(query, problem);
    if (problems.size > KEPT_DOCUMENTS) problems.delete(problems.keys().next().value ?? "");
    return problem;
  };

  const limited =
    (stock: ParseAndValidate): ParseAndValidate =>
    (query) => {
      const problem = problemOf(query);
      return problem === undefined ? stock(query) : { errors: [problem] };
    };

  return {
    name: "DocumentLimitsPlugin",
    version: "1.0.0",
    description: "Limits the size of documents: tokens, directives, operations, depth, fields.",

    grafserv: {
      middleware: {
        setPreset(next, event) {
          const stock = event.getExecutionConfig;
          event.getExecutionConfig = async function (context) {
            const config = await stock.call(this, context);
            return { ...config, parseAndValidate: limited(config.parseAndValidate) };
          };
          return next();
        },
      },
    },
  };
}

// Refuses a document that exceeds a limit before it is validated, and caches valid documents.
import { LRUCache } from "lru-cache";
import type { ExecutionConfig } from "postgraphile/grafserv";
import { documentProblem } from "./document-problem.ts";
import type { GraphqlLimits } from "./limits.ts";

type ParseAndValidate = ExecutionConfig["parseAndValidate"];

/** A document of short tokens takes 150 bytes for each character, so this is 45 MB at most. */
const CACHED_CHARACTERS = 300_000;

/**
 * graphql-armor's rules would run beside graphql's own, one of which is slow on the very documents that
 * are refused here; and grafserv does not pass on the parser option for graphql-armor's token limit.
 */
export function makeDocumentLimitsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  const limited = (stock: ParseAndValidate): ParseAndValidate => {
    const cache = new LRUCache<string, ReturnType<ParseAndValidate>>({
      maxSize: CACHED_CHARACTERS,
      sizeCalculation: (_result, query) => query.length,
    });
    return (query) => {
      const cached = cache.get(query);
      if (cached !== undefined) return cached;
      const problem = documentProblem(query, limits);
      const result = problem === undefined ? stock(query) : { errors: [problem] };
      if (result.document !== undefined) cache.set(query, result);
      return result;
    };
  };

  return {
    name: "DocumentLimitsPlugin",
    description: "Limits the size of documents: tokens, depth, fields, values.",

    grafserv: {
      middleware: {
        setPreset(next, event) {
          const configOf = event.getExecutionConfig;
          const known = new WeakMap<ParseAndValidate, ParseAndValidate>();
          event.getExecutionConfig = async function (context) {
            const config = await configOf.call(this, context);
            const { parseAndValidate } = config;
            const ours = known.get(parseAndValidate) ?? limited(parseAndValidate);
            known.set(parseAndValidate, ours);
            return { ...config, parseAndValidate: ours };
          };
          return next();
        },
      },
    },
  };
}

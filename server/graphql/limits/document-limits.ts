// Refuses a document that exceeds a limit before it is validated, and keeps documents that are valid.
import type { ExecutionConfig } from "postgraphile/grafserv";
import { documentProblem } from "./document-problem.ts";
import type { GraphqlLimits } from "./limits.ts";

type ParseAndValidate = ExecutionConfig["parseAndValidate"];

/**
 * Documents are kept up to so many characters together. A document of short tokens takes 150 bytes
 * for each character, so this is 45 MB at most.
 */
const KEPT_CHARACTERS = 300_000;

/**
 * Makes the plugin. graphql-armor's rules would stand beside graphql's own, one of which is slow on
 * the very documents that are refused here, and its token limit does not fit grafserv, which takes
 * no options of its parser.
 */
export function makeDocumentLimitsPlugin(limits: GraphqlLimits): GraphileConfig.Plugin {
  const limited = (stock: ParseAndValidate): ParseAndValidate => {
    const kept = new Map<string, ReturnType<ParseAndValidate>>();
    let characters = 0;
    return (query) => {
      const known = kept.get(query);
      if (known !== undefined) return known;
      const problem = documentProblem(query, limits);
      if (problem !== undefined) return { errors: [problem] };
      const result = stock(query);
      if (result.document === undefined) return result;
      characters += query.length;
      if (characters > KEPT_CHARACTERS) {
        kept.clear();
        characters = query.length;
      }
      kept.set(query, result);
      return result;
    };
  };

  return {
    name: "DocumentLimitsPlugin",
    version: "1.0.0",
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

// Refuses a document that exceeds a limit before it is validated, has validation wait its turn, and caches valid documents.
import { LRUCache } from "lru-cache";
import type { ExecutionConfig } from "postgraphile/grafserv";
import { documentProblem } from "./document-problem.ts";
import type { GraphqlLimits } from "./limits.ts";
import type { OperationsInFlight } from "./operations-in-flight.ts";
import { busy, clientOf } from "./planning-turns.ts";

type ParseAndValidate = ExecutionConfig["parseAndValidate"];

/** A document of short tokens takes 150 bytes for each character, so this is 45 MB at most. */
const CACHED_CHARACTERS = 300_000;

/** A shorter document takes 8 ms at most: most of it are its errors, which are as many for 200 characters. One within the limits takes as long as a plan where many fields have one name. */
const LONG = 500;

interface Documents {
  validate: ParseAndValidate;
  isCached: (query: string) => boolean;
}

/**
 * graphql-armor's rules would run beside graphql's own, one of which is slow on the very documents that
 * are refused here; and grafserv does not pass on the parser option for graphql-armor's token limit.
 */
export function makeDocumentLimitsPlugin(
  limits: GraphqlLimits,
  operations?: OperationsInFlight,
): GraphileConfig.Plugin {
  const limited = (stock: ParseAndValidate): Documents => {
    const cache = new LRUCache<string, ReturnType<ParseAndValidate>>({
      maxSize: CACHED_CHARACTERS,
      sizeCalculation: (_result, query) => query.length,
    });
    return {
      isCached: (query) => cache.has(query),
      validate(query) {
        const cached = cache.get(query);
        if (cached !== undefined) return cached;
        const problem = documentProblem(query, limits);
        const result = problem === undefined ? stock(query) : { errors: [problem] };
        if (result.document !== undefined) cache.set(query, result);
        return result;
      },
    };
  };

  /** The documents of the subscriptions that begin, one at a time on each connection. */
  const ofSockets = new WeakMap<object, string>();

  const inTurn = async (
    { validate, isCached }: Documents,
    context: Partial<Grafast.RequestContext>,
  ): Promise<ParseAndValidate> => {
    const socket = context.ws?.socket;
    const { body } = (context.node?.req ?? {}) as { body?: { query?: string } };
    const query = (socket === undefined ? body?.query : ofSockets.get(socket)) ?? "";
    // It is not counted any longer than it waits.
    if (socket !== undefined) ofSockets.delete(socket);
    if (operations === undefined || query.length <= LONG || isCached(query)) return validate;
    const client = clientOf({ requestContext: context });
    const plan = () => operations.plan(client, () => validate(query));
    // A request has a place in flight already.
    const planned = socket === undefined ? plan() : operations.inTurn(client, plan);
    const result = await planned.catch(busy);
    return () => result;
  };

  return {
    name: "DocumentLimitsPlugin",
    description: "Limits the size of documents, and the time that validation takes.",

    grafserv: {
      middleware: {
        onSubscribe(next, { ctx, message }) {
          ofSockets.set((ctx.extra as { socket: object }).socket, message.payload.query);
          return next();
        },
        setPreset(next, event) {
          const configOf = event.getExecutionConfig;
          const known = new WeakMap<ParseAndValidate, Documents>();
          event.getExecutionConfig = async function (context) {
            const config = await configOf.call(this, context);
            const { parseAndValidate } = config;
            const documents = known.get(parseAndValidate) ?? limited(parseAndValidate);
            known.set(parseAndValidate, documents);
            return { ...config, parseAndValidate: await inTurn(documents, context) };
          };
          return next();
        },
      },
    },
  };
}

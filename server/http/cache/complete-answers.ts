// Tells GraphQL's whole answers from those that lack something: only the former may be kept.
import type { ServerResponse } from "node:http";

const whole = new WeakSet<ServerResponse>();

/** Whether this response carries the result of an operation that met no error. */
export const isWhole = (response: ServerResponse): boolean => whole.has(response);

/**
 * Marks the response of each operation that ended without an error. By its bytes an answer cannot be
 * judged: they are compressed, and `data` stands before `errors`.
 */
export const WholeAnswersPlugin: GraphileConfig.Plugin = {
  name: "WholeAnswersPlugin",
  version: "1.0.0",
  grafast: {
    middleware: {
      async execute(next, { args }) {
        const result = await next();
        const response = args.requestContext?.expressv4?.res;
        const isComplete = !(Symbol.asyncIterator in result) && result.errors === undefined;
        if (isComplete && response !== undefined) whole.add(response);
        return result;
      },
    },
  },
};

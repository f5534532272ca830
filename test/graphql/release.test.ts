// GraphQL is released while its schema is still being built.
import { createServer } from "node:http";
import { setImmediate } from "node:timers/promises";
import { GRAPHQL_LIMITS } from "../../graphql/limits/limits.ts";
import { makeGraphql } from "../../graphql/serve.ts";
import { useDatabase } from "../served.ts";

const database = useDatabase();

it("logs nothing of a schema that is needed no more", async () => {
  const failing = Promise.withResolvers<undefined>();
  const logged: unknown[] = [];
  const graphql = await makeGraphql(createServer(), {
    ...{ pool: database.reader, catalogs: database.reader, limits: GRAPHQL_LIMITS },
    gate: { obstacle: undefined, opened: Promise.resolve() } as never,
    log: (error) => logged.push(error),
    plugins: [
      {
        name: "FailingPlugin",
        version: "0.0.0",
        schema: {
          hooks: {
            finalize() {
              failing.resolve(undefined);
              throw new Error("the pool has ended");
            },
          },
        },
      },
    ],
  });
  await graphql.release();
  await failing.promise;
  for (let turns = 0; turns < 5; turns += 1) await setImmediate();
  expect(logged).toEqual([]);
});

// Answers an operation that pages and counts from one snapshot of the database, so that its
// totalCount is that of its nodes. Page and count are two statements; between them a writer may
// have committed.
import { Kind, type DocumentNode, type SelectionSetNode } from "graphql";
import type { PgClient, WithPgClient } from "postgraphile/@dataplan/pg";
import type { GrafastExecutionArgs } from "postgraphile/grafast";

const READS = new Set(["nodes", "edges", "pageInfo", "totalCount"]);

/** Whether the operation selects totalCount and anything else of a connection, fragments included. */
function pagesAndCounts(document: DocumentNode, operationName: string | null): boolean {
  const fragments = new Map(
    document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION
        ? [[definition.name.value, definition.selectionSet] as const]
        : [],
    ),
  );
  const operation = document.definitions.find(
    (definition) =>
      definition.kind === Kind.OPERATION_DEFINITION &&
      (operationName === null || definition.name?.value === operationName),
  );
  if (operation?.kind !== Kind.OPERATION_DEFINITION) return false;

  const reads: string[] = [];
  const visited = new Set<string>();
  const visit = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const name = selection.name.value;
        const fragment = fragments.get(name);
        if (fragment === undefined || visited.has(name)) continue;
        visited.add(name);
        visit(fragment);
        continue;
      }
      if (selection.kind === Kind.FIELD && READS.has(selection.name.value)) {
        reads.push(selection.name.value);
      }
      if (selection.selectionSet !== undefined) visit(selection.selectionSet);
    }
  };
  visit(operation.selectionSet);
  return reads.length > 1 && reads.includes("totalCount");
}

/** The answers to pagesAndCounts, which grafserv's cache of parsed documents makes worth keeping. */
const known = new WeakMap<DocumentNode, Map<string | null, boolean>>();

function needsSnapshot({ document, operationName = null }: GrafastExecutionArgs): boolean {
  const ofDocument = known.get(document) ?? new Map<string | null, boolean>();
  known.set(document, ofDocument);
  const answer = ofDocument.get(operationName) ?? pagesAndCounts(document, operationName);
  ofDocument.set(operationName, answer);
  return answer;
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
        await client.query({ text: "begin isolation level repeatable read read only" });
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
    last = result.catch(() => undefined);
    return result;
  };
  return { withPgClient: inTurn, end: () => ended.resolve(undefined) };
}

export const SnapshotPlugin: GraphileConfig.Plugin = {
  name: "SnapshotPlugin",
  version: "1.0.0",
  description: "An operation that pages and counts does so in one snapshot.",

  grafast: {
    middleware: {
      execute(next, { args }) {
        const context = args.contextValue as { withPgClient?: WithPgClient };
        const { withPgClient } = context;
        if (withPgClient === undefined || !needsSnapshot(args)) return next();
        const snapshot = makeSnapshot(withPgClient);
        context.withPgClient = snapshot.withPgClient;
        return Promise.resolve()
          .then(next)
          .finally(() => {
            context.withPgClient = withPgClient;
            snapshot.end();
          });
      },
    },
  },
};

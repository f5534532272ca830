// The only file that uses unpublished parts of grafast and @dataplan/pg. Each function has a contract
// test, which fails if a new version lacks the part that the function uses. No upstream issue was found that asks for
// them to be published.
import type { GraphQLSchema, OperationDefinitionNode } from "graphql";
import type { PgSelectStep } from "postgraphile/@dataplan/pg";
import {
  __InputListStep,
  context,
  operationPlan,
  type ConnectionStep,
  type Step,
} from "postgraphile/grafast";

/** A connection of any row type. */
export type AnyConnection = ConnectionStep<unknown, never, never, never>;

/** The step that reads a connection's rows; grafast's type does not name its class. */
export const selectOf = ($connection: AnyConnection): PgSelectStep =>
  $connection.getSubplan() as unknown as PgSelectStep;

/** A value of the operation's context. */
export const fromContext = <Value>(name: keyof Grafast.Context): Step<Value> =>
  context().get(name) as unknown as Step<Value>;

/** The operation that is being planned; undefined while none is. */
export function plannedOperation(): OperationDefinitionNode | undefined {
  try {
    return operationPlan().operation;
  } catch {
    // Grafast has no other way to ask.
    return undefined;
  }
}

/** A property of a step, as the default plan of a field reads it. */
export const propertyOf = ($step: Step, name: string): Step =>
  ($step as unknown as { get: (name: string) => Step }).get(name);

/** Grafast's default. */
const MAX_PLANNED = 500;

interface PlanCache {
  get: (operation: OperationDefinitionNode) => unknown;
  set: (operation: OperationDefinitionNode, plans: unknown) => void;
}

/** Drops the plans that grafast caches under its symbols, but those of some operations; grafast makes missing plans again. */
export function forgetPlans(
  schema: GraphQLSchema,
  except: Iterable<OperationDefinitionNode> = [],
): void {
  const { grafast = {} } = schema.extensions;
  const known = Object.getOwnPropertySymbols(grafast).find(
    ({ description }) => description === "cacheByOperation",
  );
  const options: Record<string | symbol, unknown> = Object.fromEntries(Object.entries(grafast));
  if (known !== undefined) {
    const before = Reflect.get(grafast, known) as PlanCache;
    const LRU = before.constructor as new (options: { maxLength: number }) => PlanCache;
    const after = new LRU({ maxLength: grafast.operationsCacheMaxLength ?? MAX_PLANNED });
    for (const operation of except) {
      const plans = before.get(operation);
      if (plans !== undefined) after.set(operation, plans);
    }
    options[known] = after;
  }
  Object.assign(schema.extensions, { grafast: options });
}

/**
 * Has a list literal accept one variable several times, as `[$a, $a]`. grafast counts each element of the list as
 * a dependency, but merges equal ones: then it looks for more dependencies than there are, and fails. Names for
 * dependencies are asked for in https://github.com/graphile/crystal/issues/2665.
 */
export function keepEqualElements(): void {
  const { prototype } = __InputListStep;
  // Inherited from Step, where it is protected. Steps overwrite it when they are destroyed.
  const add = Reflect.get(prototype, "addDependency") as (options: object) => number;
  Object.defineProperty(prototype, "addDependency", {
    configurable: true,
    writable: true,
    value(this: __InputListStep, step: Step): number {
      return add.call(this, { step, skipDeduplication: true });
    },
  });
}

// Finds the operations that clients share: of the same document, variables and authorization.
import {
  Kind,
  valueFromASTUntyped,
  visit,
  type GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import type { GrafastExecutionArgs } from "postgraphile/grafast";
import { readPlaceText } from "../../market/place.ts";
import { argumentOf, valuesOf } from "../limits/variable-values.ts";
import { begin, type Execution } from "./execution.ts";
import { SharedExecution, type Member, type SharedExecutionOptions } from "./shared-execution.ts";
import { Subscription, type Flow, type Progress } from "./subscription.ts";

type Options = Pick<SharedExecutionOptions, "rounds" | "lag" | "pool" | "share">;

export class SharedOperations {
  readonly #options: Options;
  readonly #ofSchemas = new WeakMap<GraphQLSchema, Map<string, SharedOperation>>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** The operation of a client, until it calls `exit`. */
  enter(args: GrafastExecutionArgs, operation: OperationDefinitionNode): SharedOperation {
    const known = this.#ofSchemas.get(args.schema) ?? new Map<string, SharedOperation>();
    this.#ofSchemas.set(args.schema, known);
    const ofAll = { ...args, variableValues: sharedVariables(args, operation) };
    const key = keyOf(ofAll);
    const shared =
      known.get(key) ?? new SharedOperation(ofAll, this.#options, () => known.delete(key));
    known.set(key, shared);
    shared.enter();
    return shared;
  }
}

export class SharedOperation {
  readonly #args: GrafastExecutionArgs;
  readonly #options: Options;
  readonly #complexity: number;
  readonly #onEmpty: () => void;
  #clients = 0;
  /** Whether grafast has accepted it: then it accepts it of other clients, too. */
  #isAccepted = false;
  /** One for each head that clients have; those of one head are merged. */
  readonly #executions = new Set<SharedExecution>();

  constructor(args: GrafastExecutionArgs, options: Options, onEmpty: () => void) {
    const { messageId: _ofClient, ...contextValue } = args.contextValue as Grafast.Context;
    this.#complexity = contextValue.assessment?.complexity ?? 0;
    // Without the client that is the first.
    this.#args = { ...args, contextValue, requestContext: {}, extensions: {} };
    this.#options = options;
    this.#onEmpty = onEmpty;
  }

  enter(): void {
    this.#clients += 1;
  }

  exit(): void {
    this.#clients -= 1;
    if (this.#clients === 0) this.#onEmpty();
  }

  accept(): void {
    this.#isAccepted = true;
  }

  /** Whether a client with this cursor, "" for none, may start with others. */
  mayStartShared(cursor: string | undefined): cursor is string {
    if (!this.#isAccepted || cursor === undefined) return false;
    return cursor === "" || readPlaceText(cursor) !== undefined;
  }

  /** Has the member begin, or go on at its cursor, with others that do so now. */
  start(member: Member, cursor: string): void {
    for (const execution of this.#executions) if (execution.joinStart(member, cursor)) return;
    const place = readPlaceText(cursor);
    const from = place && { line: { place, states: new Map() }, change: undefined };
    this.#begin(member, from, cursor).joinStart(member, cursor);
  }

  /** Has the member get its messages with others from now on. */
  join(member: Member, from: Progress): void {
    for (const execution of this.#executions) if (execution.join(member, from)) return;
    this.#begin(member, from).join(member, from);
  }

  leave(member: Member): void {
    for (const execution of this.#executions) execution.leave(member);
  }

  /** Executes for one client that has fallen behind. */
  async resume({ client, isQuick }: Member, from: Progress, flow: Flow): Promise<Execution> {
    const { rounds, lag, pool } = this.#options;
    const subscription = new Subscription({
      ...{ rounds, lag, pool, flow, from, isQuick, complexity: this.#complexity },
      client: () => client,
    });
    try {
      return { subscription, results: await begin(this.#args, subscription) };
    } catch (error) {
      subscription.close();
      throw error;
    }
  }

  #begin({ isQuick }: Member, from: Progress | undefined, start?: string): SharedExecution {
    const maskError = (this.#args.resolvedPreset?.grafserv?.maskError ?? ((error) => error)) as (
      error: GraphQLError,
    ) => GraphQLError;
    const execution = new SharedExecution({
      ...this.#options,
      ...{ isQuick, complexity: this.#complexity },
      ...{ from, ...(start !== undefined && { start }) },
      ...{ maskError, begin: (subscription) => begin(this.#args, subscription) },
      onStage: () => {
        for (const other of this.#executions) {
          if (other !== execution && execution.mergeInto(other)) return;
        }
      },
      onEmpty: () => this.#executions.delete(execution),
    });
    this.#executions.add(execution);
    void execution.run();
    return execution;
  }
}

/** All that an event is made of, beside its place in the data. */
function keyOf(args: GrafastExecutionArgs): string {
  const { document, operationName, variableValues, onError, contextValue } = args;
  const { pgSettings, assessment } = contextValue as Grafast.Context & { pgSettings?: unknown };
  const text = document.loc?.source.body;
  // A key may allow longer lists.
  const listBound = assessment?.listBound;
  return JSON.stringify([text, operationName, variableValues, onError, pgSettings, listBound]);
}

/** Stands for the places of all clients where the variable must have a value: an execution with a place reads none. */
const ANY_PLACE = { after: "00000000.0.0.0.0", fromBlock: 0 };

/** The variables without the place of a client, which may be wrong, or that of the first one only. */
function sharedVariables(args: GrafastExecutionArgs, operation: OperationDefinitionNode) {
  const given = args.variableValues ?? {};
  const places = new Map(
    Object.entries(ANY_PLACE).map(([name, any]) => [variableOf(name, args, operation), any]),
  );
  const values = Object.create(null) as Record<string, unknown>;
  for (const { variable, type } of operation.variableDefinitions ?? []) {
    const name = variable.name.value;
    const place = places.get(name);
    // Null rather than nothing, for which the document may have a default.
    if (place !== undefined) values[name] = type.kind === Kind.NON_NULL_TYPE ? place : null;
    else if (Object.hasOwn(given, name)) values[name] = given[name];
  }
  return values;
}

/** The cursor that a client gives by a variable or not at all, "" for none; undefined where it is to be looked for in the document, or there is a block instead. */
export function cursorOf(
  args: GrafastExecutionArgs,
  operation: OperationDefinitionNode,
): string | undefined {
  const [field] = operation.selectionSet.selections;
  if (field?.kind !== Kind.FIELD) return undefined;
  const values = valuesOf(operation, args.variableValues ?? {});
  const isLacking = operation.variableDefinitions?.some(
    ({ variable, type }) =>
      type.kind === Kind.NON_NULL_TYPE && values[variable.name.value] === undefined,
  );
  // grafast refuses it.
  if (isLacking === true) return undefined;
  const block = argumentOf(field, "fromBlock");
  if (block !== undefined && valueFromASTUntyped(block, values) != null) return undefined;
  if (argumentOf(field, "after") === undefined) return "";
  const name = variableOf("after", args, operation);
  if (name === undefined) return undefined;
  const value = values[name] ?? undefined;
  if (value === undefined) return "";
  // An empty cursor is an error.
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The variable that gives this argument alone: a cursor or a block, which matter for a client's first event only. */
function variableOf(
  argument: string,
  { document }: GrafastExecutionArgs,
  { selectionSet }: OperationDefinitionNode,
): string | undefined {
  const [field] = selectionSet.selections;
  if (field?.kind !== Kind.FIELD) return undefined;
  const value = argumentOf(field, argument);
  if (value?.kind !== Kind.VARIABLE) return undefined;
  let uses = 0;
  visit(document, {
    VariableDefinition: () => false,
    Variable: (node) => {
      if (node.name.value === value.name.value) uses += 1;
    },
  });
  return uses === 1 ? value.name.value : undefined;
}

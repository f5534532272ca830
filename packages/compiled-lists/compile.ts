// Compiles the output plan of a list into a function from its items to the entries of the answer.
//
// Only plans whose every step is known are compiled, and items with anything unusual (an error, a null where none may
// be) are refused.
import { isLeafType } from "graphql";
import {
  PgClassExpressionStep,
  PgCursorStep,
  PgSelectRowsStep,
  PgSelectSingleStep,
} from "postgraphile/@dataplan/pg";
import { EdgeStep, FirstStep, flagError, LambdaStep, ListStep } from "postgraphile/grafast";
import {
  columnOf,
  type Bucket,
  type LayerPlan,
  type OutputPlan,
  type PlannedStep,
} from "./internals.ts";

/** Makes the entries of the list that is at `index` of a bucket; throws for what is unusual. */
export type MakeEntries = (
  items: readonly unknown[],
  bucket: Bucket,
  index: number,
) => readonly unknown[];

/** Reads a step's value for an item of the list; `outer` has the values of steps outside the list. */
type Read = (item: unknown, outer: readonly unknown[]) => unknown;

/** Makes a value of the answer; `row` is the value of the object around it. */
type Make = (row: unknown, item: unknown, outer: readonly unknown[]) => unknown;

/** A plan that is not compiled, or an item whose entry is not made here. */
export class Unusual extends Error {
  override readonly name = "Unusual";
}

/** Steps whose value depends on one or two others alone. */
const EXECUTED = [PgSelectSingleStep, PgClassExpressionStep, PgCursorStep, EdgeStep, LambdaStep];

/** Throws `Unusual` if the list has parts that are not known. */
export function compileList({ child, childIsNonNull }: OutputPlan, layer: LayerPlan): MakeEntries {
  if (child === null) throw new Unusual("no entries");
  const layers = layersOf(layer);
  const outerSteps: number[] = [];
  const reads = new Map<PlannedStep, Read>();

  const reader = (step: PlannedStep): Read => {
    const read = reads.get(step) ?? newReader(step);
    reads.set(step, read);
    return read;
  };

  const newReader = (step: PlannedStep): Read => {
    if (step === layer.rootStep) return (item) => item;
    if (!layers.has(step.layerPlan)) {
      const at = outerSteps.push(step.id) - 1;
      return (_item, outer) => outer[at];
    }
    assertPlain(step);
    const given = step.dependencies.map(reader);
    const [first, second, ...others] = given;
    if (step instanceof ListStep) return (item, outer) => given.map((read) => read(item, outer));
    if (first === undefined || others.length > 0) throw new Unusual(String(step));
    if (step instanceof FirstStep) {
      return (item, outer) => (first(item, outer) as readonly unknown[])[0];
    }
    if (step instanceof PgSelectRowsStep) {
      return (item, outer) => (first(item, outer) as { items: readonly unknown[] }).items;
    }
    const execute = step.unbatchedExecute?.bind(step);
    if (
      execute === undefined ||
      !step.isSyncAndSafe ||
      !EXECUTED.some((one) => step instanceof one)
    ) {
      throw new Unusual(String(step));
    }
    return second === undefined
      ? (item, outer) => unflagged(execute(undefined, first(item, outer)))
      : (item, outer) => unflagged(execute(undefined, first(item, outer), second(item, outer)));
  };

  const maker = (plan: OutputPlan, isNonNull: boolean, around?: PlannedStep): Make => {
    const { type, rootStep } = plan;
    if (plan.processRoot !== null || plan.sideEffectStep !== null) throw new Unusual(type.mode);
    if (type.mode === "leaf" && isLeafType(type.graphqlType)) {
      const { graphqlType } = type;
      const serialized = (value: unknown): unknown =>
        (value == null ? null : graphqlType.serialize(value)) ?? orNull(isNonNull);
      if (rootStep.dependencies[0] === around && rootStep instanceof PgClassExpressionStep) {
        assertPlain(rootStep);
        const { attrIndex, pgCodec } = columnOf(rootStep);
        return (row) => {
          const text = (row as readonly unknown[])[attrIndex];
          return text == null ? orNull(isNonNull) : serialized(pgCodec.fromPg(text));
        };
      }
      const read = reader(rootStep);
      return (_row, item, outer) => serialized(read(item, outer));
    }
    if (type.mode !== "object" || plan.deferredOutputPlans.length > 0) throw new Unusual(type.mode);
    const read = reader(rootStep);
    // It would set the entry's prototype.
    if ("__proto__" in plan.keys) throw new Unusual("__proto__");
    const fields = Object.entries(plan.keys).map(([key, field]): { key: string; make: Make } => ({
      key,
      make:
        field.type === "outputPlan"
          ? maker(field.outputPlan, field.isNonNull, rootStep)
          : () => type.typeName,
    }));
    // V8 copies it with room for all fields. JSON.stringify takes twice as long for an object without a prototype.
    const none = JSON.stringify(Object.fromEntries(fields.map(({ key }) => [key, null])));
    const empty = JSON.parse(none) as Record<string, unknown>;
    return (_row, item, outer) => {
      const value = read(item, outer);
      if (value == null) return orNull(isNonNull);
      const entry = { ...empty };
      for (const { key, make } of fields) entry[key] = make(value, item, outer);
      return entry;
    };
  };

  const make = maker(child, childIsNonNull);
  return (items, bucket, index) => {
    const outer = outerSteps.map((id) => {
      const values = bucket.store.get(id);
      if (values?._flagsAt(index) !== 0) throw new Unusual("flagged");
      return values.at(index);
    });
    return items.map((item) => make(undefined, unflagged(item), outer));
  };
}

/** The layers of the list's entries, which leave out nulls and nothing else. */
function layersOf(layer: LayerPlan): ReadonlySet<LayerPlan> {
  const layers = new Set([layer]);
  for (const one of layers) {
    const isKnown = one === layer || one.reason.type === "nullableBoundary";
    if (!isKnown || one.parentSideEffectStep !== null) throw new Unusual(one.reason.type);
    for (const child of one.children) layers.add(child);
  }
  return layers;
}

/** Throws unless the step's value depends on those of its dependencies alone, and handles only values. */
function assertPlain(step: PlannedStep): void {
  const isPlain =
    !step._isUnary &&
    step.implicitSideEffectStep == null &&
    step.polymorphicPaths === null &&
    step.dependencyForbiddenFlags.every((flags) => flags === step.defaultForbiddenFlags) &&
    step.dependencyOnReject.every((error) => error === undefined);
  if (!isPlain) throw new Unusual(String(step));
}

function orNull(isNonNull: boolean): null {
  if (isNonNull) throw new Unusual("null");
  return null;
}

/** Marks what stands for an error, or for a value that is held back. */
const [FLAGGED = Symbol("none")] = Object.getOwnPropertySymbols(flagError(new Error("flagged")));

function unflagged(value: unknown): unknown {
  if (typeof value === "object" && value !== null && Object.hasOwn(value, FLAGGED)) {
    throw new Unusual("flagged");
  }
  return value;
}

// The only file that names unpublished parts of grafast and @dataplan/pg: the members of a finished plan that this
// package reads. compile.ts checks what it finds, and leaves a plan alone that has anything else.
import type { GraphQLLeafType } from "graphql";
import type { OperationPlan, Step } from "postgraphile/grafast";

/** A step with the members that its execution reads. */
export type PlannedStep = Step & {
  layerPlan: LayerPlan;
  dependencies: readonly PlannedStep[];
  dependencyForbiddenFlags: readonly number[];
  dependencyOnReject: readonly unknown[];
  defaultForbiddenFlags: number;
  implicitSideEffectStep: unknown;
  polymorphicPaths: unknown;
  _isUnary: boolean;
  unbatchedExecute?: (extra: unknown, ...values: unknown[]) => unknown;
};

/** Where `unbatchedExecute` of a column's step finds its text, and what it does with it. */
interface Column {
  attrIndex: number;
  pgCodec: { fromPg: (text: unknown) => unknown };
}

export const columnOf = (step: PlannedStep): Column => step as unknown as Column;

/** A value of a step for each entry of a bucket. */
interface ExecutionValue {
  at: (index: number) => unknown;
  _flagsAt: (index: number) => number;
}

/** The values of one run of a layer. */
export interface Bucket {
  size: number;
  store: ReadonlyMap<number, ExecutionValue>;
}

export interface LayerPlan {
  reason: {
    type: string;
    parentStep?: PlannedStep;
    stream?: unknown;
    parentLayerPlan?: LayerPlan;
  };
  rootStep: PlannedStep | null;
  children: readonly LayerPlan[];
  parentSideEffectStep: unknown;
  /** Null if no list of the parent has entries. */
  newBucket: (parent: Bucket) => Bucket | null;
}

interface Child {
  type: "outputPlan" | "__typename";
  outputPlan: OutputPlan;
  isNonNull: boolean;
}

type Execute = (
  root: unknown,
  path: unknown,
  bucket: Bucket,
  index: number,
  ...rest: unknown[]
) => unknown;

export interface OutputPlan {
  layerPlan: LayerPlan;
  rootStep: PlannedStep;
  type: { mode: string; typeName?: string; graphqlType?: GraphQLLeafType };
  processRoot: unknown;
  sideEffectStep: unknown;
  deferredOutputPlans: readonly unknown[];
  keys: Readonly<Record<string, Child>>;
  child: OutputPlan | null;
  childIsNonNull: boolean;
  childByTypeName?: Readonly<Record<string, OutputPlan>>;
  execute: Execute;
  executeString: Execute;
}

export const rootOf = (plan: OperationPlan): OutputPlan =>
  (plan as unknown as { rootOutputPlan: OutputPlan }).rootOutputPlan;

// Makes the entries of lists by functions that are compiled with the plan: see README.md.
import type { OperationPlan } from "postgraphile/grafast";
import { compileList, Unusual, type MakeEntries } from "./compile.ts";
import { rootOf, type Bucket, type LayerPlan, type OutputPlan } from "./internals.ts";

export const CompiledListsPlugin: GraphileConfig.Plugin = {
  name: "CompiledListsPlugin",
  version: "0.1.0",
  description: "Makes the entries of lists by functions that are compiled with the plan.",

  grafast: {
    middleware: {
      establishOperationPlan(next) {
        const plan = next();
        // grafast keeps plans.
        if (!compiled.has(plan)) compileLists(plan);
        compiled.add(plan);
        return plan;
      },
    },
  },
};

const compiled = new WeakSet<OperationPlan>();

function compileLists(plan: OperationPlan): void {
  const lists = listsOf(rootOf(plan));
  for (const list of lists) {
    const layer = layerOf(list);
    // Two fields may read the same entries.
    if (layer === undefined || lists.some((other) => other !== list && layerOf(other) === layer)) {
      continue;
    }
    try {
      replace(list, layer, compileList(list, layer));
    } catch (error) {
      if (!(error instanceof Unusual)) throw error;
    }
  }
}

/** The lists of a plan, in objects, in variants of objects, and in each other. */
function listsOf(plan: OutputPlan, lists: OutputPlan[] = []): OutputPlan[] {
  if (plan.type.mode === "array") lists.push(plan);
  if (plan.child !== null) listsOf(plan.child, lists);
  for (const child of Object.values(plan.childByTypeName ?? {})) listsOf(child, lists);
  for (const child of Object.values(plan.keys)) {
    if (child.type === "outputPlan") listsOf(child.outputPlan, lists);
  }
  return lists;
}

/** The layer of a list's entries. */
function layerOf({ layerPlan, rootStep, child }: OutputPlan): LayerPlan | undefined {
  let layer = child?.layerPlan;
  while (layer !== undefined && layer.reason.parentLayerPlan !== layerPlan) {
    layer = layer.reason.parentLayerPlan;
  }
  const { type, parentStep, stream } = layer?.reason ?? {};
  return type === "listItem" && parentStep === rootStep && stream == null ? layer : undefined;
}

/** Makes the entries where grafast would begin with their values, and outputs them where it would read these. */
function replace(list: OutputPlan, layer: LayerPlan, entriesOf: MakeEntries): void {
  const made = new WeakMap<Bucket, readonly (readonly unknown[] | undefined)[]>();
  const newBucket = layer.newBucket.bind(layer);
  layer.newBucket = (parent) => {
    const lists = parent.store.get(list.rootStep.id);
    if (lists === undefined) return newBucket(parent);
    try {
      const entries = Array.from({ length: parent.size }, (_, index) => {
        const items = lists.at(index);
        const isList = Array.isArray(items) && lists._flagsAt(index) === 0;
        return isList ? entriesOf(items, parent, index) : undefined;
      });
      made.set(parent, entries);
      // What grafast expects where no list has entries.
      return null;
    } catch {
      // An error gets its place, and what is unusual its value.
      return newBucket(parent);
    }
  };
  const { execute, executeString } = list;
  list.execute = function (...given) {
    return made.get(given[2])?.[given[3]] ?? execute.apply(this, given);
  };
  list.executeString = function (...given) {
    const entries = made.get(given[2])?.[given[3]];
    return entries === undefined ? executeString.apply(this, given) : JSON.stringify(entries);
  };
}

// Runs middleware as graphile-config does, but so that nothing of an operation outlives it.
import { Middleware } from "graphile-config";

type Done = (error: unknown, result?: unknown) => unknown;
type Next = (() => unknown) & { callback: (done: Done) => unknown };
type Layer = (next: Next, arg: unknown) => unknown;

interface Run {
  layers: readonly Layer[];
  name: string;
  mayWait: boolean;
  arg: unknown;
  activity: (arg: unknown) => unknown;
}

/** V8 allocates a function that stands where it is assigned to a property among old objects; graphile-config assigns one to each `next`. */
export function freeMiddleware(): void {
  const running = (mayWait: boolean) =>
    function run(
      this: { middleware: Record<string, readonly Layer[] | undefined> },
      name: string,
      arg: unknown,
      activity: (arg: unknown) => unknown,
    ): unknown {
      const layers = this.middleware[name];
      return layers === undefined
        ? activity(arg)
        : runFrom(0, { layers, name, mayWait, arg, activity });
    };
  Object.assign(Middleware.prototype, { run: running(true), runSync: running(false) });
}

function runFrom(index: number, run: Run): unknown {
  const { layers, name, mayWait, arg, activity } = run;
  const layer = layers[index];
  if (layer === undefined) return activity(arg);
  let called = false;
  const next = (): unknown => runFrom(index + 1, run);
  const callback = (done: Done): unknown => {
    if (called) throw new Error("next() was already called; don't call it twice!");
    called = true;
    let result: unknown;
    try {
      result = next();
    } catch (error) {
      return done(error);
    }
    return isPromiseLike(result)
      ? result.then((value) => done(null, value), done)
      : done(null, result);
  };
  const result = layer(Object.assign(next, { callback }), arg);
  if (!mayWait && isPromiseLike(result)) {
    throw new Error(`Middleware ${index} of '${name}' returned a promise, and must not wait`);
  }
  return result;
}

const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" &&
  value !== null &&
  "then" in value &&
  typeof value.then === "function";

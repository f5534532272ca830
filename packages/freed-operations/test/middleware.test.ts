// Middleware runs as graphile-config runs it.
import { Middleware } from "graphile-config";
import { freeMiddleware } from "../middleware.ts";

interface Activities {
  wait: (arg: string[]) => Promise<string> | string;
  now: (arg: string[]) => string;
}

let middleware: Middleware<Activities>;
beforeEach(() => {
  freeMiddleware();
  middleware = new Middleware();
});

it("each layer runs within the one before it, the activity in the last", () => {
  middleware.register("now", (next, arg) => {
    arg.push("first");
    return `(${next()})`;
  });
  middleware.register("now", (next, arg) => {
    arg.push("second");
    return `[${next()}]`;
  });
  const passed: string[] = [];
  expect(middleware.runSync("now", passed, () => "done")).toBe("([done])");
  expect(passed).toEqual(["first", "second"]);
  expect(middleware.runSync("wait", passed, () => "alone")).toBe("alone");
});

it("a callback gets results, errors and what is waited for, once", async () => {
  const ends: unknown[] = [];
  middleware.register("wait", (next) =>
    next.callback((error, result) => {
      ends.push(error instanceof Error ? error.message : result);
      expect(() => next.callback(() => "again")).toThrow("already called");
      return "over";
    }),
  );
  const fail = (): string => {
    throw new Error("failed");
  };
  expect(middleware.run("wait", [], () => "at once")).toBe("over");
  expect(middleware.run("wait", [], fail)).toBe("over");
  expect(await middleware.run("wait", [], () => Promise.resolve("later"))).toBe("over");
  expect(await middleware.run("wait", [], () => Promise.reject(new Error("late")))).toBe("over");
  expect(ends).toEqual(["at once", "failed", "later", "late"]);
});

it("a layer of what must not wait is refused a promise", () => {
  middleware.register("now", () => Promise.resolve("later") as unknown as string);
  expect(() => middleware.runSync("now", [], () => "done")).toThrow(
    "Middleware 0 of 'now' returned a promise",
  );
});

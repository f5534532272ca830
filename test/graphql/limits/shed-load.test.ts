// Refusals for load leave at a bounded rate, however many clients ask again at once.
import type { IncomingMessage, ServerResponse } from "node:http";
import { OperationsInFlight, shedLoad } from "../../../graphql/limits/operations-in-flight.ts";

const request = {
  ...{ method: "POST", url: "/graphql", headers: {}, socket: {} },
} as unknown as IncomingMessage;
const response = (fields: object = {}) =>
  ({ destroyed: false, ...fields }) as unknown as ServerResponse;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** Asks without a pause; `refused` has the answered requests. */
function overloaded() {
  const refused: ServerResponse[] = [];
  const operations = new OperationsInFlight({
    perClient: 0,
    connections: 0,
    waiting: 0,
    waitMs: 1,
  });
  const step = shedLoad(operations, (_req, res) => void refused.push(res));
  const listener = step(() => undefined);
  return { refused, ask: (res = response()) => listener(request, res) };
}

it("refuses no client at once, and at most 20 in 10 ms", () => {
  const { refused, ask } = overloaded();
  for (let n = 0; n < 100; n += 1) ask();
  const counts = [49, 1, 10, 10, 10, 10].map((ms) => {
    jest.advanceTimersByTime(ms);
    return refused.length;
  });
  expect(counts).toEqual([0, 20, 40, 60, 80, 100]);
});

it("makes a client that asks again wait as long as the first time", () => {
  const { refused, ask } = overloaded();
  ask();
  jest.advanceTimersByTime(40);
  ask();
  jest.advanceTimersByTime(10);
  expect(refused).toHaveLength(1);
  jest.advanceTimersByTime(39);
  expect(refused).toHaveLength(1);
  jest.advanceTimersByTime(1);
  expect(refused).toHaveLength(2);
});

it("answers no client that has gone away", () => {
  const { refused, ask } = overloaded();
  ask(response({ destroyed: true }));
  jest.advanceTimersByTime(60);
  expect(refused).toEqual([]);
});

it("lets no client wait for those that have gone away", () => {
  const { refused, ask } = overloaded();
  for (let n = 0; n < 2000; n += 1) ask(response({ destroyed: true }));
  ask();
  jest.advanceTimersByTime(50);
  expect(refused).toHaveLength(1);
});

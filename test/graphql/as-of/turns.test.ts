// An operation as of a past block begins its transaction in its turn: what waits holds no connection.
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";
import { PlanningPauses } from "../../../graphql/limits/planning-pauses.ts";
import { blockAt, hours, registerMarkets } from "../../factories.ts";
import { dataOf } from "../../graphql.ts";
import { serveRecorded } from "../../served.ts";

const { app, statements } = serveRecorded(
  async (writer) => {
    await registerMarkets(writer);
    await writer.query("select ingest.write_block($1, $2)", [blockAt(1), hours(1)]);
  },
  { cache: "off" },
);

afterEach(() => jest.restoreAllMocks());

it.each(["plan", "readWhole"] as const)(
  "has sent nothing to the database when it waits to %s",
  async (method) => {
    const sent: string[][] = [];
    const own = Reflect.get(OperationsInFlight.prototype, method) as (
      ...given: unknown[]
    ) => Promise<never>;
    jest.spyOn(OperationsInFlight.prototype, method).mockImplementation(function (
      this: OperationsInFlight,
      ...given: unknown[]
    ) {
      sent.push(statements.map(({ text }) => text));
      return own.apply(this, given);
    });
    // Another field for each, so that none is planned already. No index has lots in their order.
    const page = `allDexTrades(first: 1, filter: { lotAmt: { greaterThan: "7" } }) { nodes { ${method}: id } }`;
    await dataOf(app, `query @asOf(block: ${blockAt(1)}) { ${page} }`);
    expect(sent).toEqual([[]]);
    expect(statements).not.toEqual([]);
  },
);

it("ends its turn with the time that its plan took", async () => {
  const ends: unknown[][] = [];
  const own: PlanningPauses["endLater"] = Reflect.get(PlanningPauses.prototype, "endLater");
  jest.spyOn(PlanningPauses.prototype, "endLater").mockImplementation(function (
    this: PlanningPauses,
    client: string,
  ) {
    const end = own.call(this, client);
    return (...given) => {
      ends.push(given);
      end(...given);
    };
  });
  const page = "allDexTrades(first: 1) { nodes { planned: id } }";
  await dataOf(app, `query @asOf(block: ${blockAt(1)}) { ${page} }`);
  expect(ends).toEqual([[expect.any(Number)], []]);
});

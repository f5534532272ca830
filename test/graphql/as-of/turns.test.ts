// An operation as of a past block begins its transaction in its turn: what waits holds no connection.
import { OperationsInFlight } from "../../../graphql/limits/operations-in-flight.ts";
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

// Bodies that are longer than they may be: refused as soon as that is known.
import { request } from "node:http";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import type { TestApp } from "../../app.ts";
import { dataOf } from "../../graphql.ts";
import { useApp, useDatabase } from "../../served.ts";
import { recordStatements, type Statement } from "../../statements.ts";

const database = useDatabase();
const statements: Statement[] = [];
beforeAll(() => recordStatements(database.reader, statements));

const BYTES = 5000;

/** A request's body of so many bytes. */
const bodyOf = (bytes: number): string => {
  const query = JSON.stringify({ query: "{ __typename }" });
  return `${query}${" ".repeat(bytes - query.length)}`;
};

/** Posts a body without saying how long it is, and goes on until it is answered. */
function postInPieces(app: TestApp, body: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asking = request(new URL("/graphql", app.url), {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
    });
    asking.on("error", reject);
    asking.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    for (let at = 0; at < body.length; at += 1000) asking.write(body.slice(at, at + 1000));
    asking.end();
  });
}

describe.each([
  ["with answers from memory", {}],
  ["without", { cache: "off" as const }],
])("%s", (_name, cache) => {
  const app = useApp(database, { ...cache, limits: { ...GRAPHQL_LIMITS, bodyBytes: BYTES } });
  beforeAll(() => dataOf(app, "{ __typename }"));

  const post = (body: string) =>
    app.request.post("/graphql").type("json").accept("json").send(body);

  it("a body of as many bytes as the limit is answered", async () => {
    expect((await post(bodyOf(BYTES))).body).toEqual({ data: { __typename: "Query" } });
    const inPieces = await postInPieces(app, bodyOf(BYTES));
    expect(JSON.parse(inPieces.text)).toEqual({ data: { __typename: "Query" } });
  });

  it("a longer one is 413, and says what is accepted", async () => {
    const answer = await post(bodyOf(BYTES + 1));

    expect(answer.status).toBe(413);
    expect(answer.headers["access-control-allow-origin"]).toBe("*");
    expect(answer.body).toEqual({
      errors: [
        {
          message: "The body must be at most 5000 bytes long",
          extensions: { code: "BODY_TOO_LARGE" },
        },
      ],
    });
  });

  it("a longer one that does not say its length is refused alike", async () => {
    statements.length = 0;
    const { status, text } = await postInPieces(app, bodyOf(BYTES + 1));

    expect(status).toBe(413);
    expect(JSON.parse(text)).toEqual({
      errors: [expect.objectContaining({ extensions: { code: "BODY_TOO_LARGE" } })],
    });
    expect(statements).toEqual([]);
  });

  it("the next request on the connection is answered as ever", async () => {
    await post(bodyOf(BYTES * 3));
    expect((await post(bodyOf(100))).status).toBe(200);
  });
});

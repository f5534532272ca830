// Persisted documents: asked for by their identifier, by GET and POST, and kept by caches as answers of REST are.
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSchema } from "graphql";
import { GRAPHQL_LIMITS } from "../../../graphql/limits/limits.ts";
import {
  identifierOf,
  PersistedDocuments,
  readDocuments,
} from "../../../graphql/persisted/documents.ts";
import { aTrade, blockAt, registerMarkets, write } from "../../factories.ts";
import { useApp, useDatabase } from "../../served.ts";
import { connectTo, follow, refusalOf } from "../../subscription-client.ts";

const TRADES = `query Trades($market: String) {
  allDexTrades(condition: { market: $market }) {
    totalCount
    nodes { id price }
  }
}
`;
const FROM_PRICE = `query FromPrice($least: BigFloat!) {
  allDexTrades(filter: { price: { greaterThanOrEqualTo: $least } }) { totalCount }
}`;
const HEAD = "{ dexHead { block } }";
const TWO = "query One { dexHead { block } } query Other { dexHead { time } }";
const WRONG = "{ nothing }";
const FOLLOW = 'subscription { dexTrades(market: "WETH/DAI") { cursor } }';
const ALL = [TRADES, FROM_PRICE, HEAD, TWO, WRONG, FOLLOW];

const SDL = readFileSync(new URL("../../../graphql/schema.graphql", import.meta.url), "utf8");

const database = useDatabase(async (writer) => {
  await registerMarkets(writer);
  const trades = Array.from({ length: 40 }, (_, idx) => aTrade({ idx, base: "1", quote: "2" }));
  await write(writer, { trades });
});
const warned: string[] = [];
const app = useApp(database, {
  documents: new PersistedDocuments(ALL),
  warn: (line: string) => warned.push(line),
});
const only = useApp(database, { documents: new PersistedDocuments(ALL, true) });
const without = useApp(database);

const pathOf = (text: string, more: Record<string, string> = {}): string =>
  `/graphql?${new URLSearchParams({ documentId: identifierOf(text), ...more }).toString()}`;
const IN_DAI = { variables: JSON.stringify({ market: "WETHDAI" }) };

it("has the identifier of the appendix of GraphQL over HTTP", () => {
  expect(identifierOf("query ($id: ID!) {\n  user(id: $id) {\n    name\n  }\n}")).toBe(
    "sha256:7dba4bd717b41f10434822356a93c32b1fb4907b983e854300ad839f84cdcd6e",
  );
});

it("is reported when the schema is built, if it has no such field", async () => {
  await app.request.get(pathOf(HEAD));
  while (warned.length === 0) await new Promise(setImmediate);
  expect(warned).toEqual([
    `PERSISTED_DIR: ${identifierOf(WRONG)} is refused: Cannot query field "nothing" on type "Query".`,
  ]);
});

describe("a GET", () => {
  it("gives what a POST of the text gives, by the type that is accepted", async () => {
    const posted = await app.request
      .post("/graphql")
      .send({ query: TRADES, variables: { market: "WETHDAI" } });
    expect(posted.body.data.allDexTrades.totalCount).toBe(40);
    const got = await app.request.get(pathOf(TRADES, IN_DAI));
    expect([got.status, got.text]).toEqual([200, posted.text]);
    const accept = "application/graphql-response+json";
    const { headers } = await app.request.get(pathOf(TRADES, IN_DAI)).set("Accept", accept);
    expect(headers["content-type"]).toContain(accept);
  });

  it("runs the operation that is named", async () => {
    const { body } = await app.request.get(pathOf(TWO, { operationName: "Other" }));
    expect(Object.keys(body.data.dexHead)).toEqual(["time"]);
  });

  it("is kept by caches as an answer of REST, in each encoding under another tag", async () => {
    const path = pathOf(TRADES, IN_DAI);
    const tags = new Set<string>();
    for (const encoding of ["identity", "gzip"]) {
      const { headers } = await app.request.get(path).set("Accept-Encoding", encoding);
      expect(headers).toMatchObject({
        "cache-control": "public, max-age=1",
        vary: "Accept, Accept-Encoding, X-Min-Block",
        "access-control-allow-origin": "*",
      });
      expect(headers["content-encoding"]).toBe(encoding === "gzip" ? "gzip" : undefined);
      const again = await app.request
        .get(path)
        .set("Accept-Encoding", encoding)
        .set("If-None-Match", headers["etag"]!);
      expect([again.status, again.text]).toEqual([304, ""]);
      expect(again.headers).not.toHaveProperty("content-type");
      tags.add(headers["etag"]!);
    }
    expect(tags.size).toBe(2);
    const head = await app.request.head(path).set("Accept-Encoding", "identity");
    expect([head.status, tags.has(head.headers["etag"]!)]).toEqual([200, true]);
  });

  it("is answered from memory until the data change", async () => {
    const path = pathOf(HEAD);
    const before = await app.request.get(path);
    let hit = before;
    // A write to another database of the server empties the cache too.
    while (hit.headers["server-timing"] !== "cache;desc=hit") hit = await app.request.get(path);
    expect(hit.headers["etag"]).toBe(before.headers["etag"]);
    await write(database.writer, { trades: [aTrade({ hour: 24 })] });
    const after = await app.request.get(path).set("If-None-Match", before.headers["etag"]!);
    expect(after.status).toBe(200);
    expect(after.body).toEqual({ data: { dexHead: { block: blockAt(24) } } });
  });

  it("waits for the block of X-Min-Block, and names the head", async () => {
    const block = String(blockAt(24));
    await write(database.writer, { head: 24 }).catch(() => undefined);
    const { headers } = await app.request.get(pathOf(HEAD)).set("X-Min-Block", block);
    expect(headers["x-head-block"]).toBe(block);
  });

  it("rounds no number in its variables", async () => {
    // The price of each trade is 2: 2 ÷ 1. A double would round the bound to 2.
    const countFrom = async (least: string): Promise<number> => {
      const path = pathOf(FROM_PRICE, { variables: `{"least":${least}}` });
      return (await app.request.get(path)).body.data.allDexTrades.totalCount as number;
    };
    const all = await countFrom("0");
    expect(await countFrom("2")).toBe(all);
    expect(all - (await countFrom("2.000000000000000001"))).toBeGreaterThanOrEqual(40);
  });

  const unknown = `sha256:${"0".repeat(64)}`;
  it.each([
    ["an unknown document", `documentId=${unknown}`, "UNKNOWN_DOCUMENT", /SHA-256 of the text/],
    ["no identifier", "documentId=", "UNKNOWN_DOCUMENT", /SHA-256 of the text/],
    ["a text beside it", `${pathOf(HEAD).slice(9)}&query=x`, "BAD_REQUEST", /^query must not/],
    ["two documents", `${pathOf(HEAD).slice(9)}&documentId=x`, "BAD_REQUEST", /must be given once/],
    [
      "no JSON",
      pathOf(HEAD, { variables: "{" }).slice(9),
      "BAD_REQUEST",
      /^variables must be JSON/,
    ],
    ["more", pathOf(HEAD, { variables: '{},"query":"x"' }).slice(9), "BAD_REQUEST", /must be JSON/],
    ...["Variables", "VARIABLES", "variables[]", "variables[market]"].map(
      (name): [string, string, string, RegExp] => [
        name,
        pathOf(HEAD, { [name]: "{}" }).slice(9),
        "BAD_REQUEST",
        / must be written variables$/,
      ],
    ),
    ["no object", pathOf(HEAD, { variables: "[]" }).slice(9), "BAD_REQUEST", /^body.variables/],
  ])("is refused with %s, and not kept", async (_, query, code, message) => {
    for (const _again of [1, 2]) {
      const { status, headers, body } = await app.request.get(`/graphql?${query}`);
      expect(status).toBe(400);
      expect(body.errors).toEqual([
        { message: expect.stringMatching(message), extensions: { code } },
      ]);
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers).not.toHaveProperty("etag");
    }
  });

  it("with an error of the document is not kept", async () => {
    const { status, headers, body } = await app.request
      .get(pathOf(WRONG))
      .set("Accept", "application/json");
    expect([status, body.errors.length, headers["cache-control"]]).toEqual([200, 1, "no-store"]);
    expect(headers).not.toHaveProperty("etag");
  });

  it("without a document stays refused, with a text as well", async () => {
    for (const path of ["/graphql", `/graphql?query=${encodeURIComponent(HEAD)}`]) {
      const { status, headers } = await app.request.get(path);
      expect([status, headers["allow"]]).toEqual([405, "POST, OPTIONS"]);
    }
    expect((await without.request.get(pathOf(HEAD))).status).toBe(405);
  });

  it("of a subscription is refused with where it is served", async () => {
    const { body, headers } = await app.request.get(pathOf(FOLLOW));
    expect(body.errors[0].message).toContain("WebSocket");
    expect(headers["cache-control"]).toBe("no-store");
  });
});

it("is run by POST as well, beside texts of the client's", async () => {
  const byId = { documentId: identifierOf(TWO), operationName: "One" };
  for (const sent of [byId, { query: "query One { dexHead { block } }" }]) {
    const { body } = await app.request.post("/graphql").send(sent);
    expect(Object.keys(body.data.dexHead)).toEqual(["block"]);
  }
  const refused = await without.request.post("/graphql").send(byId);
  expect([refused.status, refused.body.errors[0].extensions.code]).toEqual([
    400,
    "UNKNOWN_DOCUMENT",
  ]);
});

describe("with PERSISTED_ONLY", () => {
  it("no other text is run, by POST and by WebSocket", async () => {
    const error = {
      message: expect.stringMatching(/^This service runs only its persisted documents/),
      extensions: { code: "ONLY_PERSISTED" },
    };
    const refused = await only.request.post("/graphql").send({ query: `${HEAD} ` });
    expect([refused.status, refused.body.errors]).toEqual([400, [error]]);
    const client = connectTo(only.url);
    expect(await refusalOf(client, `${FOLLOW} `)).toEqual([expect.objectContaining(error)]);
    await client.dispose();
  });

  it("its documents are, by their identifier or their text", async () => {
    expect((await only.request.get(pathOf(HEAD))).status).toBe(200);
    for (const sent of [{ query: HEAD }, { documentId: identifierOf(HEAD) }]) {
      expect((await only.request.post("/graphql").send(sent)).body).toHaveProperty("data.dexHead");
    }
    const client = connectTo(only.url);
    const followed = follow(client, FOLLOW);
    expect((await followed.next()).cursor).not.toBe("");
    await followed.end();
    await client.dispose();
  });
});

describe("the folder", () => {
  let folder: string;
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), "documents-"))));
  afterEach(() => rm(folder, { recursive: true }));
  const read = (maxBytes = 1000) => readDocuments(folder, { only: false, maxBytes });

  it("has a document in each file of GraphQL, byte by byte", async () => {
    await writeFile(join(folder, "head.graphql"), `${HEAD}\n`);
    await writeFile(join(folder, "two.gql"), TWO);
    await writeFile(join(folder, "README.md"), "no document");
    const documents = await read();
    expect(documents.size).toBe(2);
    expect([`${HEAD}\n`, HEAD, TWO].map((text) => documents.has(identifierOf(text)))).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("is refused where it is none, and where it has nothing", async () => {
    await expect(read()).rejects.toThrow(/^PERSISTED_DIR: .* has no file that ends in \.graphql/);
    await rm(folder, { recursive: true });
    await expect(read()).rejects.toThrow(/^PERSISTED_DIR: .* cannot be read: ENOENT/);
    await mkdir(folder);
  });

  it.each([
    ["is no GraphQL document: Syntax Error", "{ dexHead"],
    ["is longer than MAX_BODY_BYTES, 1000", `{ a${" ".repeat(1000)} }`],
    ["is not UTF-8", Buffer.from([0x23, 0xff])],
  ])("with a file that %s is refused by its name", async (problem, bytes) => {
    await writeFile(join(folder, "a.graphql"), HEAD);
    await writeFile(join(folder, "wrong.graphql"), bytes);
    await expect(read()).rejects.toThrow(`wrong.graphql ${problem}`);
  });

  it.each([
    ["query A { dexHead { nosuch } }", 'Cannot query field "nosuch" on type "DexHead".'],
    [
      FOLLOW.replace(" {", " @asOf(block: 1) {"),
      'Directive "@asOf" may not be used on SUBSCRIPTION.',
    ],
    ["{ dexHead @nosuch { block } }", 'Unknown directive "@nosuch".'],
    [
      'subscription ($is: Boolean!) { dexTrades(market: "WETH/DAI") @include(if: $is) { cursor } }',
      "@include with a variable is not accepted on the field of a subscription: the field that is followed must not depend on a variable.",
    ],
    [
      "mutation { __typename }",
      'There is no mutation here: the service only reads, and accepts operations of the kinds "query" and "subscription".',
    ],
    [
      `{ ${"a { ".repeat(30)} b ${"}".repeat(30)} }`,
      `The field "a" is nested more than ${GRAPHQL_LIMITS.depth} fields deep.`,
    ],
  ])(
    "with a file that the schema or a limit refuses is reported by its name: %#",
    async (text, problem) => {
      await writeFile(join(folder, "head.graphql"), HEAD);
      await writeFile(join(folder, "wrong.graphql"), text);
      const schema = buildSchema(SDL);
      const problems = (await read()).problems(schema, GRAPHQL_LIMITS);
      expect(await Array.fromAsync(problems)).toEqual([
        `PERSISTED_DIR: ${join(folder, "wrong.graphql")} is refused: ${problem}`,
      ]);
    },
  );

  it("with a link to a device, whose reading may not end, is refused by its name", async () => {
    await symlink("/dev/zero", join(folder, "wrong.graphql"));
    await expect(read()).rejects.toThrow("wrong.graphql is no file");
  });
});

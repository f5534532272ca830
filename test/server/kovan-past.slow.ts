// A recorded week, loaded whole, answers as of each of its blocks as it did when only that much was loaded.
import type { Client } from "../../db/connect.ts";
import { readFolder } from "../../db/load/folder.ts";
import { loadRows } from "../../db/load/write-rows.ts";
import { makeTestApp, type TestApp } from "../app.ts";
import { makeDatabase, type TestDatabase } from "../database.ts";
import { ask } from "../graphql.ts";
import { operationOf, SELECTIONS, withoutMarks } from "../graphql/as-of/past-answers.ts";
import { describeKovan, KOVAN, kovanBlocks, kovanFiles, kovanRecording } from "../kovan.ts";
import { examplePaths, LISTINGS as listings } from "../rest/example-paths.ts";

const WETH = "0xd0A1E359811322d97991E03f863a0C30C2cF029C";
const DAI = "0xC4375B7De8af5a38a93548eb8453a498222C4fF2";
/** In place of the addresses in the listings' examples. */
const ADDRESSES = {
  "0x5359e9235cc41cabee78f7f2a4fcf01e650ab475": WETH,
  "0xbbeab13af26280e72d04c5794aa71659b1a1a318": DAI,
};

const NAMED = { trade: "2", offer: 1, base: "WETH", quote: "DAI" };

describeKovan("the week of kovan-2018-06, loaded whole", () => {
  let database: TestDatabase;
  let writer: Client;
  let app: TestApp;
  beforeAll(async () => {
    database = await makeDatabase();
    writer = await database.connect("dex_writer");
    app = await makeTestApp(database.reader, { listings, cache: "off" });
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  /** Body, ETag and block of every endpoint, and the data of every GraphQL selection. */
  async function answersOf(
    blocks: readonly number[],
    asOf?: number,
  ): Promise<Record<string, unknown>> {
    // A variable: a document with another number would be planned anew.
    const directive = asOf === undefined ? "" : "@asOf(block: $block)";
    const named = asOf === undefined ? NAMED : { ...NAMED, block: asOf };
    const ofRest = examplePaths({ market: "weth/dai", block: blocks[0]!, addresses: ADDRESSES });
    const found = [
      ...ofRest.map(async (path) => {
        const asked = asOf === undefined ? path : `${path}&block=${asOf}`;
        const { status, text, headers } = await app.request.get(asked);
        expect({ asked, status }).toEqual({ asked, status: 200 });
        const block = headers["x-head-block"];
        // Which block is final is what is known now, of a past block too.
        if (path.startsWith("/v2/blocks"))
          return [path, [text.replace(/"final":\w+/, '"final":0'), block]] as const;
        return [path, [text, headers["etag"], block]] as const;
      }),
      ...Object.entries(SELECTIONS).map(async ([name, selection]) => {
        const { query, variables } = operationOf(selection, named, directive);
        const { data, errors } = await ask<object>(app, query, variables);
        expect(errors).toBeUndefined();
        return [name, asOf === undefined ? data : withoutMarks(data)] as const;
      }),
    ];
    return Object.fromEntries(await Promise.all(found));
  }

  it("answers as of each block, by REST and GraphQL, as when it was the head", async () => {
    const blocks = kovanBlocks(kovanRecording()).map(({ block }) => block);
    const upTo = await kovanFiles();
    const heads: Record<string, unknown>[] = [];
    for (const block of blocks) {
      await loadRows(writer, upTo(block));
      heads.push(await answersOf(blocks));
    }
    expect(new Set(heads.map((head) => JSON.stringify(head))).size).toBe(blocks.length);

    await database.empty();
    await loadRows(writer, await readFolder(KOVAN));
    for (const [n, block] of blocks.entries()) {
      expect({ block, ...(await answersOf(blocks, block)) }).toEqual({ block, ...heads[n] });
    }
  }, 600_000);
});

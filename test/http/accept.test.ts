// The Accept header: what is read of it, and that REST answers whatever it says.
import { readableAccept } from "../../http/well-formed.ts";
import { makeTestApp } from "../app.ts";
import { makeDatabase } from "../database.ts";
import { exchange } from "../exchange-http.ts";

it.each([
  ["", "*/*"],
  [",", "*/*"],
  ["garbage", "*/*"],
  ["*", "*/*"],
  ["*/json", "*/*"],
  ["é/b", "*/*"],
  ["*/*;q=2", "*/*"],
  ["a/b;q=x, c/d;q=0.5", "c/d; q=0.5"],
  ["a/b;", "a/b"],
  [",, application/json ,", "application/json"],
  ["Text/HTML, image/*;q=0.8, */*;q=0", "text/html, image/*; q=0.8, */*; q=0"],
  ['a/b;c="x, y";q=1', 'a/b; c="x, y"; q=1'],
  ['a/b;c="x', "a/b"],
])("%j is read as %j", (header, read) => {
  expect(readableAccept(header)).toBe(read);
});

it("is of no concern to REST", async () => {
  await using database = await makeDatabase();
  await using app = await makeTestApp(database.reader);
  for (const accept of ["", ",", "garbage", "a/b;", "text/html", "*/*;q=0"]) {
    for (const path of ["/v1/markets/", "/v2/prices", "/health", "/openapi.json"]) {
      const { status } = await exchange(app.url, { path, headers: { Accept: accept } });
      expect([path, accept, status]).toEqual([path, accept, 200]);
    }
  }
});

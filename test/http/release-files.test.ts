// What changes with a release only, as it is served.
import express, { Router } from "express";
import supertest from "supertest";
import { LastHead } from "../../http/known-database.ts";
import { answerFailures, refuseAsOf } from "../../http/refusal.ts";
import { serveReleaseFile } from "../../http/release-files.ts";

it("is read once for each encoding, and again after it could not be read", async () => {
  let reads = 0;
  const router = Router();
  serveReleaseFile(router, "/file", {
    type: "text/plain",
    read: () => {
      reads += 1;
      return reads === 1 ? Promise.reject(new Error("EMFILE")) : Promise.resolve("text");
    },
  });
  const failures = answerFailures(refuseAsOf(new LastHead()), () => undefined);
  const request = supertest(express().use(router).use(failures));
  const ask = async (encoding: string): Promise<number> =>
    (await request.get("/file").set("Accept-Encoding", encoding)).status;

  expect(await ask("gzip")).toBe(500);
  expect([await ask("gzip"), await ask("gzip"), await ask("identity")]).toEqual([200, 200, 200]);
  expect(await ask("gzip")).toBe(200);
  expect(reads).toBe(3);
});

// A listing format with one endpoint, made up: its declaration alone serves it, decides its question and is tried by /ready.
import express from "express";
import supertest from "supertest";
import { z } from "zod";
import type { Database, Pool } from "../../db/connect.ts";
import { bareEnvelope } from "../../http/envelope.ts";
import { LastHead, type Obstacle } from "../../http/known-database.ts";
import { answerFailures, refuseAsOf } from "../../http/refusal.ts";
import { readSnapshot } from "../../market/queries/snapshot.ts";
import { answerPlainGets, endpoint, versionRouter, type Version } from "../../rest/endpoint.ts";
import { limitUpTo } from "../../rest/params.ts";
import { findUnreadable } from "../../rest/probe.ts";
import { restQuestions } from "../../rest/question.ts";

const madeUp: Version = {
  name: "made-up",
  description: "Opening times.",
  envelope: bareEnvelope,
  endpoints: [
    endpoint({
      id: "madeUpHours",
      path: "/hours",
      summary: "When the exchange is open",
      description: "Always.",
      query: { limit: limitUpTo(24, 1, "How many hours, at most.") },
      find: (db: Database, _pair, { limit }) =>
        readSnapshot<{ key: string }>(db, { name: "made_up_hours", text: "", values: [limit] }),
      shape: (rows) => rows.map(({ key }) => key),
      data: z.array(z.string()),
    }),
  ],
};

const sent: unknown[] = [];
const db = {
  query: (statement: { values: unknown }) => {
    sent.push(statement.values);
    const row = ["2026-01-31T12:00:00.000Z", 5, "noon"];
    const fields = [{ name: "asOf" }, { name: "asOfBlock" }, { name: "key" }];
    return Promise.resolve({ rows: [row], fields });
  },
} as unknown as Pool;

beforeEach(() => {
  sent.length = 0;
});

it("is served, and refuses what it does not accept", async () => {
  const head = new LastHead();
  const failures = answerFailures(refuseAsOf(head), () => undefined);
  const app = express().use("/made-up", versionRouter(madeUp, { db, head })).use(failures);
  const ask = (path: string) => supertest(app).get(path);

  const answer = await ask("/made-up/hours?limit=2");
  expect([answer.status, answer.body]).toEqual([200, ["noon"]]);
  expect(answer.headers["x-head-block"]).toBe("5");
  expect((await ask("/made-up/hours?limit=25")).body.message).toMatch(/^limit must be an integer/);
  expect(sent).toEqual([[2]]);
});

it("is answered in front of Express where nothing of its path has to be decoded, once the database is ready", async () => {
  const refuse = refuseAsOf(new LastHead());
  const gate: { obstacle: Obstacle | undefined } = { obstacle: undefined };
  const log = (): void => undefined;
  const step = answerPlainGets({
    versions: [madeUp],
    ...{ gate, refuse, log, db },
    head: new LastHead(),
  });
  const app = step((_req, res) => res.writeHead(204).end());
  const statusOf = async (path: string) => (await supertest(app).get(path)).status;

  const paths = ["/made-up/hours", "/made-up/hours/?limit=2&x=%", "/made-up/hours?limit=25"];
  expect(await Promise.all(paths.map(statusOf))).toEqual([200, 200, 400]);
  const others = ["/made-up/hour%73", "/made-up/Hours", "/made-up", "/made-up/hours/weth/dai"];
  expect(await Promise.all(others.map(statusOf))).toEqual([204, 204, 204, 204]);
  expect((await supertest(app).post("/made-up/hours")).status).toBe(204);
  gate.obstacle = { kind: "not ready", line: "not migrated" };
  expect(await statusOf("/made-up/hours")).toBe(204);
});

it("is one question in the cache, whatever parameters it does not know", () => {
  const questionOf = restQuestions([madeUp]);
  expect(questionOf({ url: "/made-up/hours?x=1&limit=2" })).toBe("/made-up/hours?limit=2");
  expect(questionOf({ url: "/made-up/hour?limit=2" })).toBeUndefined();
});

it("is tried by /ready", async () => {
  expect(await findUnreadable(db, [madeUp], () => false)).toEqual([]);
  expect(sent).toEqual([[2]]);
});

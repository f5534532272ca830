// The `fetch` of the examples, in front of services that have different heads.
import { neverBack } from "../../examples/never-back.ts";

interface Asked {
  least: string | null;
  body: string;
}

const at = (block: number): Response =>
  new Response("{}", { headers: { "x-head-block": String(block) } });

const lacking = (block: number): Response =>
  new Response("{}", {
    status: 503,
    headers: { "x-head-block": String(block), "retry-after": "0" },
  });

/** Answers one after another. */
function answering(...answers: Response[]) {
  const asked: Asked[] = [];
  const fetchOne = neverBack(async (input) => {
    const request = input as Request;
    asked.push({ least: request.headers.get("x-min-block"), body: await request.text() });
    return answers.shift() ?? Response.error();
  });
  const ask = (): Promise<Response> =>
    fetchOne("http://service/graphql", { method: "POST", body: "{ dexHead { block } }" });
  return { asked, ask };
}

const leastOf = (asked: Asked[]): number[] => asked.map(({ least }) => Number(least));

it("hands back the highest block that it has seen, from 0 on", async () => {
  const { asked, ask } = answering(at(7), at(9), new Response("{}"), at(9));
  for (let n = 0; n < 4; n += 1) await ask();
  expect(leastOf(asked)).toEqual([0, 7, 9, 9]);
});

it("asks again, with the same body, while a service lacks the block", async () => {
  const { asked, ask } = answering(at(9), lacking(7), lacking(8), at(9));
  await ask();
  expect((await ask()).status).toBe(200);
  expect(leastOf(asked)).toEqual([0, 9, 9, 9]);
  expect(new Set(asked.map(({ body }) => body))).toEqual(new Set(["{ dexHead { block } }"]));
});

it("begins anew with the highest block that there is, where no service has the one it has seen", async () => {
  const { asked, ask } = answering(
    ...[at(9), lacking(6), lacking(8), lacking(7), lacking(6), lacking(8), at(8)],
  );
  await ask();
  expect((await ask()).status).toBe(200);
  expect(leastOf(asked)).toEqual([0, 9, 9, 9, 9, 9, 8]);
});

it("hands on every other refusal", async () => {
  const { ask } = answering(
    at(9),
    new Response("{}", { status: 503 }),
    new Response("{}", { status: 429 }),
  );
  await ask();
  expect((await ask()).status).toBe(503);
  expect((await ask()).status).toBe(429);
});

// The load generator's wire: requests out, whole answers back in.
import { AnswerMeter, wireBytes } from "../../bench/load/wire-request.ts";
import { fieldsOf } from "../../bench/servers/recorded-page.ts";

const ANSWER = Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "x"\r\n\r\nhello');

test("The end of an answer is found however it is cut, and of the next as well", () => {
  for (let cut = 1; cut < ANSWER.length; cut += 1) {
    const meter = new AnswerMeter();
    for (let answers = 0; answers < 2; answers += 1) {
      const [first, rest] = [Buffer.from(ANSWER.subarray(0, cut)), ANSWER.subarray(cut)];
      expect(meter.add(first, first.length)).toBe(false);
      // The buffer that was read into is read into again.
      first.fill(0);
      expect(meter.add(rest, rest.length)).toBe(true);
    }
  }
});

test("Each answer's own length counts, wherever its head names it", () => {
  const meter = new AnswerMeter();
  const heads = [
    "Content-Length: 5\r\nETag: x\r\n\r\nhello",
    "Content-Length: 5\r\nETag: longer\r\n\r\nhello",
    "Content-Length: 6\r\nETag: x\r\n\r\nhello!",
    "ETag: longer than this\r\nContent-Length: 4\r\n\r\nbyte",
    // The same line stands at the same place, in the body.
    "Content-Length: 31\r\n\r\n\r\nContent-Length: 4\r\n\r\n+ 7 more",
  ];
  for (const rest of heads) {
    const bytes = Buffer.from(`HTTP/1.1 200 OK\r\n${rest}`);
    expect(meter.add(bytes, bytes.length - 1)).toBe(false);
    expect(meter.add(bytes.subarray(-1), 1)).toBe(true);
  }
});

test("Only the bytes that were read count, and an answer that failed is reported", () => {
  const padded = Buffer.concat([ANSWER, Buffer.from("old bytes")]);
  expect(new AnswerMeter().add(padded, ANSWER.length)).toBe(true);
  expect(() => new AnswerMeter().add(padded, padded.length)).toThrow("longer");
  const failed = Buffer.from("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  expect(() => new AnswerMeter().add(failed, failed.length)).toThrow("503");
});

test("An answer without a length is an error, not an endless wait", () => {
  const bytes = Buffer.from("HTTP/1.1 200 OK\r\n\r\n");
  expect(() => new AnswerMeter().add(bytes, bytes.length)).toThrow("without Content-Length");
});

test("A POST carries the length of its body in bytes", () => {
  const bytes = wireBytes({ method: "POST", path: "/graphql", body: '{"a":"é"}' }).toString();
  expect(bytes).toContain("\r\nContent-Length: 10\r\n");
  expect(bytes.endsWith('\r\n\r\n{"a":"é"}')).toBe(true);
});

test("The fields of a page are read back from PostGraphile's SQL", () => {
  const select = [
    "select",
    '__dex_trade__."offer_id"::text as "0",',
    '__dex_trade__."lot_gem" as "1",',
    `to_char(__dex_trade__."time", 'YYYY"T"HH24'::text) as "2"`,
    'from "public"."dex_trade" as __dex_trade__',
  ].join("\n");
  expect(fieldsOf(select)).toEqual([
    { name: "offerId", column: 0, isInteger: true },
    { name: "lotGem", column: 1, isInteger: false },
    { name: "time", column: 2, isInteger: false },
  ]);
});

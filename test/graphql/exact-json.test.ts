// Numbers in JSON keep all their digits.
import { parseJson } from "../../graphql/exact-json.ts";

it.each([
  // Doubles have the nearest of what they can: 0.277101, 2, 0.
  ["0.2771010000000000000000001"],
  ["-2.0000000000000000001"],
  ["9007199254740993"],
  ["1e-400"],
  ["1.5E+400"],
])("%s is given as its text", (text) => {
  expect(parseJson(`{"given": [${text}]}`)).toEqual({ given: [text] });
});

it.each([
  ...[["0.5"], ["123456789012345"], ["-1e22"], ["0.000000000000000"], ["0e999"], ["1e-200"]],
  // 5, 10^18 and 5: zeros at the end are no digits that can be lost.
  ...[["5.000000000000000"], ["1000000000000000000.0"], ["5000000000000000000000e-21"]],
])("%s is the number that it is", (text) => {
  expect(parseJson(`[${text}]`)).toEqual([Number(text)]);
});

it("no text is changed", () => {
  expect(parseJson('["12345678901234567890", "1e-400"]')).toEqual([
    "12345678901234567890",
    "1e-400",
  ]);
});

it.each([
  ["quotes", '{"a\\"1": "\\"12345678901234567890,", "b": 12345678901234567890}'],
  ["backslashes", '{"1e400\\\\": "\\\\", "b" : -12345678901234567890 }'],
  ["short numbers", "[1,-2.5,12345678901234567890,3e5]"],
  ["itself", "12345678901234567890"],
])("a long number beside %s is given as its text, and the rest unchanged", (_what, text) => {
  const quoted = text.replace(/-?12345678901234567890(?!,")/, '"$&"');
  expect(parseJson(text)).toEqual(JSON.parse(quoted));
});

it.each([
  "{12345678901234567890: 1}",
  "[012345678901234567890]",
  '["12345678901234567890',
  "[1e400",
])("%s is no JSON", (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

it("is parsed without a reviver, which would be called for each value beside a long number", () => {
  const parse = jest.spyOn(JSON, "parse");
  try {
    const text = `{"z":1234567890123456789,"a":[${"0,".repeat(48_000)}0]}`;
    expect(parseJson(text)).toMatchObject({ z: "1234567890123456789" });
    expect(parse.mock.calls.map((given) => given.length)).toEqual([1, 1]);
  } finally {
    parse.mockRestore();
  }
});

it("a text of millions of digits, or of other characters, is taken", () => {
  const digits = "1".repeat(10_000_000);
  const text = "\\n".repeat(5_000_000);
  expect(parseJson(`[${digits},"${text}"]`)).toEqual([digits, "\n".repeat(5_000_000)]);
});

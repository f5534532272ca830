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

it.each([["0.5"], ["123456789012345"], ["-1e22"], ["0.000000000000000"], ["0e999"], ["1e-200"]])(
  "%s is the number that it is",
  (text) => {
    expect(parseJson(`[${text}]`)).toEqual([Number(text)]);
  },
);

it("no text is changed", () => {
  expect(parseJson('["12345678901234567890", "1e-400"]')).toEqual([
    "12345678901234567890",
    "1e-400",
  ]);
});

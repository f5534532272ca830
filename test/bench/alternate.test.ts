// How what is measured takes turns, told by what is asked when.
import { alternate, type Entry } from "../../bench/load/alternate.ts";

const ASKED = { connections: 1, rounds: 2, warmUp: 9, seconds: 0.4 };

/** Entries by name, and what they were asked: the name and for how many seconds. */
function recorded(entries: Partial<Entry>[], msOfAnswer: number) {
  const asked: string[] = [];
  const whole = entries.map((entry): Entry => ({
    case: "a case",
    contender: "",
    ask: ({ seconds }) => {
      asked.push(`${entry.contender} ${seconds}`);
      const count = Math.round((seconds * 1000) / msOfAnswer);
      return Promise.resolve({
        rate: count / seconds,
        latencies: new Array<number>(count).fill(msOfAnswer),
      });
    },
    processorTime: () => Promise.resolve(asked.length * 100),
    ...entry,
  }));
  return { asked, entries: whole };
}

beforeEach(() => jest.spyOn(console, "log").mockImplementation());
afterEach(() => jest.restoreAllMocks());

it("has those of a match change places within a turn, and back in the next round", async () => {
  const { asked, entries } = recorded(
    [{ contender: "a", match: "first" }, { contender: "b", match: "first" }, { contender: "c" }],
    1,
  );
  const [a] = await alternate(entries, ASKED);

  // Slices of 0.1 seconds, the first of each behind a lead-in of 0.2.
  const forth = [
    ...["a 0.2", "a 0.1", "b 0.2", "b 0.1", "b 0.1", "a 0.1"],
    ...["a 0.1", "b 0.1", "b 0.1", "a 0.1"],
  ];
  const back = forth.map((what) =>
    what.startsWith("a") ? `b${what.slice(1)}` : `a${what.slice(1)}`,
  );
  expect(asked).toEqual([
    ...["a 9", "b 9", "c 9"],
    ...[...forth, "c 0.2", "c 0.4"],
    ...["c 0.2", "c 0.4", ...back],
  ]);
  // 1,000 answers a second, and in each of four slices of a turn 100 µs of processor time for 100 answers.
  expect(a).toMatchObject({ rate: 1000, cpu: 1 });
});

it.each([
  ["slices of 50 answers", 4, ["a 0.2", "a 0.2", "b 0.2", "b 0.2", "b 0.2", "a 0.2"]],
  ["one, where 50 take most of a turn", 6, ["a 0.2", "a 0.4", "b 0.2", "b 0.4"]],
])("gives what takes its time to answer %s, right behind its lead-in", async (_what, ms, taken) => {
  const { asked, entries } = recorded(
    [
      { contender: "a", match: "first" },
      { contender: "b", match: "first" },
    ],
    ms,
  );
  await alternate(entries, { ...ASKED, rounds: 1 });
  expect(asked.slice(2)).toEqual(taken);
});

it("leaves apart what is of another match, or of another case", async () => {
  const { asked, entries } = recorded(
    [
      { contender: "a", match: "first" },
      { contender: "b", match: "second" },
      { contender: "c", match: "second", case: "another" },
    ],
    1,
  );
  await alternate(entries, { ...ASKED, rounds: 1 });
  expect(asked.slice(3)).toEqual(["a 0.2", "a 0.4", "b 0.2", "b 0.4", "c 0.2", "c 0.4"]);
});

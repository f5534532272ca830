// What has changed for those who rely on a release: in the SDL by GraphQL's own comparison, elsewhere by the lines of the
// contract, of which none may go or read otherwise.
import { buildSchema, findBreakingChanges } from "graphql";

export interface Change {
  description: string;
  /** What the changelog has to name. */
  names: string[];
}

/** A client or an operator that does not give it is refused from now on. */
const MUST_BE_GIVEN = ", must be given";

export function brokenSdl(before: string, after: string): Change[] {
  return findBreakingChanges(buildSchema(before), buildSchema(after)).map(({ description }) => {
    const words = description.match(/\w+(?:\.\w+)?/g) ?? [];
    const names = new Set([...Object.keys(typesOf(before)), ...Object.keys(typesOf(after))]);
    const name =
      words.find((word) => word.includes(".")) ?? words.find((word) => names.has(word)) ?? "";
    return { description, names: [name] };
  });
}

const typesOf = (sdl: string): Record<string, unknown> => buildSchema(sdl).getTypeMap();

export function brokenLines(before: readonly string[], after: readonly string[]): Change[] {
  const now = new Map(after.map((line) => [keyOf(line), line]));
  const then = new Set(before.map(keyOf));
  const kept = new Set(after);
  const gone = before.filter((line) => !kept.has(line));
  // What is below a path goes with it.
  const paths = gone.filter((line) => !line.includes(": ")).map((line) => `${line} `);
  return [
    ...gone
      .filter((line) => !paths.some((path) => line.startsWith(path)))
      .map((line) => {
        const changed = now.get(keyOf(line));
        const what = changed === undefined ? "is gone" : `is now \`${changed}\``;
        return { description: `\`${line}\` ${what}`, names: namesIn(line) };
      }),
    ...after
      .filter((line) => !then.has(keyOf(line)) && line.endsWith(MUST_BE_GIVEN))
      // What is asked of a path that is new.
      .filter((line) => then.has(/^GET \S+/.exec(line)?.[0] ?? "") || !line.startsWith("GET "))
      .map((line) => ({ description: `\`${line}\` is new`, names: namesIn(line) })),
  ];
}

const keyOf = (line: string): string => line.split(": ", 1)[0] ?? line;

/** The path of an endpoint and the last part of what it names; the name of anything else. */
function namesIn(line: string): string[] {
  const key = keyOf(line);
  const [, path] = /^GET (\S+)/.exec(key) ?? [];
  if (path === undefined) return [key];
  const [, last = path] = /^GET \S+ .*?([\w-]+)\W*$/.exec(key) ?? [];
  return [...new Set([path, last])];
}

/** Those that the changelog does not name between backticks. */
export const unnamed = (changes: readonly Change[], changelog: string): string[] =>
  changes
    .filter(({ names }) => !names.every((name) => changelog.includes(`\`${name}\``)))
    .map(({ description, names }) => `${description}. Name ${quoted(names)} in CHANGELOG.md`);

const quoted = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(", ");

// Finds names in the environment that are likely misspelt settings.

/** npm's and PostgreSQL's own variables. */
const FOREIGN = /^(npm_|PG)/;

/** Short names of other programs differ by a letter or two. */
const MIN_LETTERS = 6;
const LONG = 9;

const letters = (name: string): string => name.replaceAll("_", "").toUpperCase();

/** The given names that are no setting, but one without regard to case and underscores, or but for a letter or two. */
export function similarSettings(given: readonly string[], settings: readonly string[]) {
  return given
    .filter((name) => !settings.includes(name) && !FOREIGN.test(name))
    .flatMap((name) => {
      const nearest = [0, 1, 2]
        .map((edits) =>
          settings.find(
            (setting) =>
              edits <= maxEdits(name, setting) && isWithin(edits, letters(name), letters(setting)),
          ),
        )
        .find((setting) => setting !== undefined);
      return nearest === undefined ? [] : [{ given: name, nearest }];
    });
}

/** A line for each of them. */
export const similarityWarnings = (env: NodeJS.ProcessEnv, settings: readonly string[]): string[] =>
  similarSettings(Object.keys(env), settings).map(
    ({ given, nearest }) => `${given} is no setting, and is ignored: did you mean ${nearest}?`,
  );

function maxEdits(name: string, setting: string): number {
  const length = Math.min(letters(name).length, letters(setting).length);
  if (length < MIN_LETTERS) return 0;
  return length < LONG ? 1 : 2;
}

/** Whether so few letters inserted, removed or replaced make one text the other. */
function isWithin(edits: number, one: string, other: string): boolean {
  if (one === other) return true;
  if (edits === 0) return false;
  if (one !== "" && other.startsWith(one.charAt(0)))
    return isWithin(edits, one.slice(1), other.slice(1));
  return (
    isWithin(edits - 1, one.slice(1), other) ||
    isWithin(edits - 1, one, other.slice(1)) ||
    isWithin(edits - 1, one.slice(1), other.slice(1))
  );
}

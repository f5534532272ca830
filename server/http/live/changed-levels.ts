// What has changed of the levels of a book.

interface Level {
  /** The side, where the levels of both are in one list. */
  act?: string;
  price: string;
  vol: string;
  quoteVol: string;
  offers: number;
}

const keyOf = ({ act = "", price }: Level): string => `${act} ${price}`;

const isSame = (one: Level | undefined, other: Level): boolean =>
  one?.vol === other.vol && one.quoteVol === other.quoteVol && one.offers === other.offers;

/** The levels that are gone, with nothing left, and those that are not as before. */
export function changedLevels<Given extends Level>(
  before: readonly Given[],
  now: readonly Given[],
): Given[] {
  const known = new Map(before.map((level) => [keyOf(level), level]));
  const fresh = now.filter((level) => !isSame(known.get(keyOf(level)), level));
  for (const level of now) known.delete(keyOf(level));
  const gone = [...known.values()].map((level) => ({
    ...level,
    ...{ vol: "0", quoteVol: "0", offers: 0 },
  }));
  return [...gone, ...fresh];
}

// Divides what is asked by the statements that read it: each has a bound, as its answer and its time have.

/** In their order; one that is larger than the bound is alone. */
export function piecesOf<Asked>(
  all: readonly Asked[],
  sizeOf: (asked: Asked) => number,
  most: number,
): Asked[][] {
  const pieces: Asked[][] = [];
  let size = Infinity;
  for (const asked of all) {
    size += sizeOf(asked);
    if (size > most) {
      pieces.push([]);
      size = sizeOf(asked);
    }
    pieces.at(-1)?.push(asked);
  }
  return pieces;
}

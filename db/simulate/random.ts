// A small seeded generator (sfc32): the same words give the same numbers on every machine.

/** A stream of chance. No amount is ever drawn as a fraction: whole numbers only. */
export interface Random {
  /** A whole number from 0 to below `limit`, at most 2^32. */
  below(limit: number): number;
  /** True in so many of a hundred cases. */
  chance(percent: number): boolean;
  /** One of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
}

/** The stream that belongs to these whole numbers, for example a seed and a block. */
export function makeRandom(...words: readonly number[]): Random {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = 0xb7e15162;
  let counter = 1;

  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };

  for (const word of words) {
    a ^= word | 0;
    b ^= Math.floor(word / 2 ** 32) | 0;
    // Neighbouring seeds and blocks must not give neighbouring streams.
    for (let round = 0; round < 12; round += 1) next();
  }

  const below = (limit: number): number => Math.floor((next() / 2 ** 32) * limit);
  return {
    below,
    chance: (percent) => below(100) < percent,
    pick(list) {
      const picked = list[below(list.length)];
      if (picked === undefined) throw new RangeError("there is nothing to pick from");
      return picked;
    },
  };
}

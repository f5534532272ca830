// What a request asks for and the data do not have.

export abstract class Absent extends Error {
  override readonly name = this.constructor.name;
}

/** The pair is not registered, at least not in this direction. */
export class UnknownPair extends Absent {
  constructor() {
    super("Unknown pair");
  }
}

/** No registered token has the address. */
export class UnknownAsset extends Absent {
  constructor() {
    super("Unknown asset");
  }
}

/** The database does not have the past block that is asked for; `available` says which it has. */
export class NoSuchBlock extends Absent {
  constructor(available: string) {
    super(`No such block: ${available}`);
  }
}

/** There is no head yet. */
export class NoBlockYet extends Absent {
  constructor() {
    super("No block has been written yet");
  }
}

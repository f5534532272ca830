// Bounds what clients hold of one thing, such as streams or bytes: each client, and all together.

export interface QuotaLimits {
  perClient: number;
  all: number;
}

/** Some clients may have more or less than others. */
export type Limits = Omit<QuotaLimits, "perClient"> & {
  perClient: number | ((client: string) => number);
};

export class Quota {
  readonly #limits: Limits;
  readonly #ofClient = new Map<string, number>();
  #all = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Which limit does not allow it. */
  refusal(client: string, amount = 1): keyof QuotaLimits | undefined {
    const { perClient, all } = this.#limits;
    if (this.#all + amount > all) return "all";
    const most = typeof perClient === "number" ? perClient : perClient(client);
    return (this.#ofClient.get(client) ?? 0) + amount > most ? "perClient" : undefined;
  }

  /** Returns the function that gives it back; undefined where it is too much. */
  take(client: string, amount = 1): (() => void) | undefined {
    if (this.refusal(client, amount) !== undefined) return undefined;
    this.#add(client, amount);
    let isHeld = true;
    return () => {
      if (isHeld) this.#add(client, -amount);
      isHeld = false;
    };
  }

  #add(client: string, amount: number): void {
    this.#all += amount;
    const held = (this.#ofClient.get(client) ?? 0) + amount;
    if (held === 0) this.#ofClient.delete(client);
    else this.#ofClient.set(client, held);
  }
}

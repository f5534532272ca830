// Clients take turns: one of each client is next, then the second ones.

export class ClientTurns<Item> {
  /** Of each client what waits, in the order of the clients' turns. */
  readonly #lines = new Map<string | symbol, Item[]>();

  /** Each without a client is for itself. */
  add(item: Item, client: string | symbol = Symbol()): void {
    const line = this.#lines.get(client);
    if (line === undefined) this.#lines.set(client, [item]);
    else line.push(item);
  }

  /** Undefined where nothing waits. */
  take(): Item | undefined {
    for (const [client, line] of this.#lines) {
      const item = line.shift();
      this.#lines.delete(client);
      if (line.length > 0) this.#lines.set(client, line);
      return item;
    }
    return undefined;
  }
}

/** Those that wait, in the order of their turns. */
export function clientByClient<Item>(
  items: readonly Item[],
  clientOf: (item: Item) => string | undefined,
): Item[] {
  const counts = new Map<string, number>();
  const turns: Item[][] = [];
  for (const item of items) {
    const client = clientOf(item);
    const turn = client === undefined ? 0 : (counts.get(client) ?? 0);
    if (client !== undefined) counts.set(client, turn + 1);
    (turns[turn] ??= []).push(item);
  }
  return turns.flat();
}

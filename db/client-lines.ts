// What clients wait for: a line for each of them, and the lines in the order of the clients' turns.

export class ClientLines<Client, Item> {
  /** None is empty. */
  readonly #lines = new Map<Client, Item[]>();

  [Symbol.iterator](): Iterator<[Client, readonly Item[]]> {
    return this.#lines.entries();
  }

  of(client: Client): readonly Item[] {
    return this.#lines.get(client) ?? [];
  }

  /** A client that comes, or comes back, has its turn behind those that wait: no client passes another one. */
  add(client: Client, item: Item): void {
    const line = this.#lines.get(client);
    if (line === undefined) this.#lines.set(client, [item]);
    else line.push(item);
  }

  remove(client: Client, item: Item): void {
    const line = this.#lines.get(client) ?? [];
    const at = line.indexOf(item);
    if (at >= 0) line.splice(at, 1);
    if (line.length === 0) this.#lines.delete(client);
  }

  /** After a client's turn, the others have theirs. */
  putLast(client: Client): void {
    const line = this.#lines.get(client);
    if (line === undefined) return;
    this.#lines.delete(client);
    this.#lines.set(client, line);
  }
}

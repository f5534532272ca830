// Clients take turns: one of each client is next, then the second ones.

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

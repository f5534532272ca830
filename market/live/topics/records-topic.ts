// Topics with one record a market.
import type { Database } from "../../../db/connect.ts";
import type { KeyedRow } from "../../records.ts";
import type { FoundRecord } from "../../queries/snapshot.ts";
import { keyOf, type Row, type TopicField, type TopicKind } from "../topic.ts";

interface Records extends Pick<TopicKind, "name" | "schema" | "isOfRegistry"> {
  /** Those with these keys; all without them. */
  find: (db: Database, keys?: readonly string[]) => Promise<FoundRecord<KeyedRow>[]>;
  field: Pick<TopicField, "name" | "event" | "about" | "does"> & {
    /** The relation of the records, whose primary key is `pair`. */
    of: string;
    /** GraphQL's type of a record, and how its description names several. */
    type: string;
    several: string;
  };
}

export const recordTopic = ({
  find,
  field: { of, type, several, ...field },
  ...declared
}: Records): TopicKind => ({
  ...declared,
  markets: "one or all",
  async read({ db, once, isOneByOne }, topics) {
    const read = async (keys?: readonly string[]) => {
      const rows = new Map<string, readonly Row[]>();
      for (const { key, hash, ...data } of await find(db, keys))
        rows.set(key, [{ key, hash, data }]);
      return rows;
    };
    const found = isOneByOne
      ? await once(declared.name, () => read())
      : await read(topics.map(keyOf));
    return { states: new Map(topics.map((topic) => [topic.name, found.get(keyOf(topic)) ?? []])) };
  },
  data: ({ rows: [record] }) => record?.data ?? null,
  field: {
    ...field,
    market: "pairs",
    arguments: `
      """
      Identifiers BASE/QUOTE, in any case. All markets if not given.
      """
      pairs: [String!]
    `,
    members: () => `
      """
      All ${several} in the first event and after a reset, then those that have changed.
      """
      nodes: [${type}!]!

      """
      Identifiers of the markets that are registered no longer.
      """
      removed: [String!]!
    `,
    nodes: { of, key: "pair", type: "text" },
  },
});

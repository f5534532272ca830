// The endpoints of what there is one record of for each market: the list, and the record of one.
import type { z } from "zod";
import type { Database } from "../db/connect.ts";
import { endpoint, type Endpoint } from "./endpoint.ts";
import { findPrice, findPrices, priceRecord } from "../market/queries/prices.ts";
import { NO_PAIR, type PairName, type Snapshot } from "../market/queries/snapshot.ts";
import { findVolume, findVolumes, volumeRecord } from "../market/queries/volumes.ts";
import { byKey, onlyRecord, recordsByKey, type KeyedRow } from "../market/records.ts";

interface ListAndRecord<Row extends KeyedRow> {
  path: string;
  record: z.ZodType<Omit<Row, "key">>;
  list: { id: string; summary: string; note?: string };
  findAll: (db: Database) => Promise<Snapshot<Row>>;
  one: { id: string; summary: string; description: string };
  findOne: (db: Database, pair: PairName) => Promise<Snapshot<Row>>;
}

export const listAndRecord = <Row extends KeyedRow>({
  path,
  record,
  list: { id, summary, note = "" },
  findAll,
  one,
  findOne,
}: ListAndRecord<Row>): Endpoint[] => [
  endpoint({
    id,
    path,
    summary,
    description: `By \`BASE/QUOTE\`, in the order of its code points${note}.`,
    find: findAll,
    probe: (db) => findOne(db, NO_PAIR),
    shape: byKey<Row>,
    data: recordsByKey(record),
  }),
  endpoint({
    ...one,
    path: `${path}/:base/:quote` as const,
    find: findOne,
    shape: onlyRecord<Row>,
    data: record,
  }),
];

export const pricesOf = (version: string): Endpoint[] =>
  listAndRecord({
    path: "/prices",
    record: priceRecord,
    list: { id: `${version}Prices`, summary: "The prices of each registered market" },
    findAll: findPrices,
    one: {
      id: `${version}Price`,
      summary: "The prices of a market",
      description: "Volume weighted over 24, 12, 6 and 1 hours, and the last.",
    },
    findOne: findPrice,
  });

export const volumesOf = (version: string): Endpoint[] =>
  listAndRecord({
    path: "/volumes",
    record: volumeRecord,
    list: { id: `${version}Volumes`, summary: "The volume of each registered market" },
    findAll: findVolumes,
    one: {
      id: `${version}Volume`,
      summary: "The volume of a market",
      description: "Of the last 24 hours, in base units.",
    },
    findOne: findVolume,
  });

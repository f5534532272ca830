// The volume of each market, from dex_volume.
import type { Database } from "../../db/connect.ts";
import { z } from "zod";
import type { PairName } from "../params.ts";
import { decimal, type KeyedRow } from "../records.ts";
import { MOMENT, readSnapshot, type Snapshot } from "./snapshot.ts";

/** The volume of a market. */
export const volumeRecord = z
  .object({ vol: decimal.describe("The volume of the last 24 hours, in base units.") })
  .meta({ id: "Volume" });

export type VolumeRow = KeyedRow & z.infer<typeof volumeRecord>;

const SELECT_VOLUMES = `
  select
    ${MOMENT},
    volume.pair as key,
    trim_scale(coalesce(volume.vol, 0))::text as vol
  from dex_private.as_of
  left join dex_volume as volume
`;

/** The volume of every registered market, in the order of BASE/QUOTE by code point. */
export async function findVolumes(db: Database): Promise<Snapshot<VolumeRow>> {
  return readSnapshot(db, {
    name: "rest_volumes",
    text: `
      ${SELECT_VOLUMES}
        on true
      order by volume.pair collate "C"
    `,
  });
}

/** The volume of one market; symbols in any case. */
export async function findVolume(
  db: Database,
  { base, quote }: PairName,
): Promise<Snapshot<VolumeRow>> {
  return readSnapshot(db, {
    name: "rest_volume",
    text: `
      ${SELECT_VOLUMES}
        on volume.base = upper($1)
        and volume.quote = upper($2)
    `,
    values: [base, quote],
  });
}

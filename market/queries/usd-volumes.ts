// The volume of each market over 24 hours in dollars.
import type { Database } from "../../db/connect.ts";
import type { KeyedRow } from "../records.ts";
import {
  FROM_AS_OF,
  figureOrNull,
  readSnapshot,
  SELECT_MOMENT,
  type Snapshot,
} from "./snapshot.ts";

/** As GraphQL has it. */
export interface UsdVolume {
  volumeInUsd: string | null;
  /** The market whose price makes the dollars; null where a token of the market itself is one. */
  through: string | null;
}

/** `usdTokens` are symbols and addresses. */
export const findUsdVolumes = (
  db: Database,
  usdTokens: readonly string[],
): Promise<Snapshot<KeyedRow & UsdVolume>> =>
  readSnapshot(db, {
    name: "page_usd_volumes",
    text: `
      ${SELECT_MOMENT},
        valued.pair as key,
        ${figureOrNull("valued.volume_in_usd", "volumeInUsd")},
        valued.through
      ${FROM_AS_OF}
      left join dex_usd_volume($1) as valued on true`,
    values: [usdTokens],
  });

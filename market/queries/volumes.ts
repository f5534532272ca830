// The volume of each market, from dex_volume.
import { z } from "zod";
import { decimal, type KeyedRow } from "../records.ts";
import { figure, marketQueries } from "./snapshot.ts";

export const volumeRecord = z
  .object({ vol: decimal.describe("The volume of the last 24 hours, in base units.") })
  .meta({ id: "Volume" });

type VolumeRow = KeyedRow & z.infer<typeof volumeRecord>;

export const { findAll: findVolumes, findOne: findVolume } = marketQueries<VolumeRow>({
  name: "dex_volume",
  columns: figure("vol"),
});

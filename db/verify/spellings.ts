// Finds wrong pair hashes, and addresses in several letter cases. PostgreSQL cannot compute keccak256, so each
// spelling that occurs is checked here.
import type { Client } from "../connect.ts";
import { checksumAddress, pairHash } from "../load/checksum.ts";
import type { Differences } from "./differences.ts";

export async function verifySpellings(client: Client, found: Differences): Promise<void> {
  await addWrongPairs(client, found);
  await addWrongCases(client, found);
}

async function addWrongPairs(client: Client, found: Differences): Promise<void> {
  const { rows } = await client.query<{ pair: string; lot: string; bid: string }>(
    `select pair, lot_gem as lot, bid_gem as bid from dex_trade
    union
    select pair, lot_gem, bid_gem from dex_offer`,
  );
  const wrong = rows.filter(({ pair, lot, bid }) => pair !== pairHash(lot, bid));
  if (wrong.length === 0) return;
  const values = [
    wrong.map(({ pair }) => pair),
    wrong.map(({ lot }) => lot),
    wrong.map(({ bid }) => bid),
    wrong.map(({ lot, bid }) => pairHash(lot, bid)),
  ];
  for (const table of ["dex_trade", "dex_offer"]) {
    const text = `
      select '${table} ' || id as row, pair as kept, wrong.hash as right
      from ${table}
      join unnest($1::text[], $2::text[], $3::text[], $4::text[]) as wrong (pair, lot_gem, bid_gem, hash)
        using (pair, lot_gem, bid_gem)
      order by id`;
    await found.add(client, { text, values });
  }
}

/** Of makers and takers in several letter cases: clients find by one of them only some of the rows. */
async function addWrongCases(client: Client, found: Differences): Promise<void> {
  const { rows } = await client.query<{ address: string }>(
    `select spelling.address
    from (
      select
        given.address,
        min(given.address) over of_one <> max(given.address) over of_one as differs
      from (
        select maker collate "C" as address from dex_trade
        union
        select taker collate "C" from dex_trade
        union
        select maker collate "C" from dex_offer
      ) as given
      window of_one as (partition by lower(given.address))
    ) as spelling
    where spelling.differs`,
  );
  const wrong = rows
    .map(({ address }) => address)
    .filter((address) => address !== checksumAddress(address));
  if (wrong.length === 0) return;
  const values = [wrong, wrong.map(checksumAddress)];
  for (const [table, column] of [
    ["dex_trade", "maker"],
    ["dex_trade", "taker"],
    ["dex_offer", "maker"],
  ] as const) {
    const text = `
      select '${table} ' || id as row, ${column} as kept, wrong.checksummed as right
      from ${table}
      join unnest($1::text[], $2::text[]) as wrong (address, checksummed) on wrong.address = ${column}
      order by id`;
    await found.add(client, { text, values });
  }
}

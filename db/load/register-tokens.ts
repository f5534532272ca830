// Registers tokens and pairs.
import type { Client } from "../connect.ts";
import { freeSymbols } from "../exchanged-symbols.ts";
import { refuseDifference } from "./contradictions.ts";
import { LoadError, refusedByDatabase } from "./load-error.ts";
import type { PairRow, Rows, TokenRow } from "./checked-rows.ts";
import { placeOf } from "./staging.ts";

type Placed<Row> = Row & { place: string };

export interface Registered {
  added: number;
  changed: number;
}

/** Reads all rows of a registry file into memory, each with its place; registries are short. */
export async function gather<Row extends { line?: number }>(
  name: string,
  rows: Rows<Row>,
): Promise<Placed<Row>[]> {
  const gathered: Placed<Row>[] = [];
  for await (const row of rows) {
    gathered.push({ ...row, place: placeOf(name, row.line, gathered.length + 1) });
  }
  return gathered;
}

/** Registers new tokens and updates changed ones. A missing value keeps the recorded one. */
export async function registerTokens(
  client: Client,
  tokens: Placed<TokenRow>[],
): Promise<Registered> {
  const given = new Map<string, Placed<TokenRow>>();
  const registered = { added: 0, changed: 0 };
  await freeSymbols(client, tokens);
  for (const token of tokens) {
    const { address, decimals } = token;
    const what = `${token.place}: token ${address}`;
    const earlier = given.get(address);
    if (earlier !== undefined) {
      refuseDifference(what, earlier.place, [
        ["symbol", earlier.symbol, token.symbol],
        ["decimals", earlier.decimals, decimals],
        ["name", earlier.name, token.name],
      ]);
      continue;
    }
    given.set(address, token);
    const { rows } = await client.query<Pick<TokenRow, "symbol" | "decimals" | "name">>(
      "select symbol, decimals, name from dex_token where address = $1",
      [address],
    );
    const [kept] = rows;
    const symbol = token.symbol ?? kept?.symbol ?? null;
    const name = token.name ?? kept?.name ?? null;
    if (kept?.symbol === symbol && kept.decimals === decimals && kept.name === name) continue;
    await register(client, what, "ingest.register_token($1, $2, $3, $4)", [
      address,
      symbol,
      decimals,
      name,
    ]);
    registered[kept === undefined ? "added" : "changed"] += 1;
  }
  return registered;
}

interface KeptPair {
  base: string;
  quote: string;
  base_gem: string;
  quote_gem: string;
  active: boolean;
}

/** Registers new pairs, and updates `active` of existing ones. */
export async function registerPairs(client: Client, pairs: Placed<PairRow>[]): Promise<Registered> {
  const given = new Map<string, Placed<PairRow>>();
  const registered = { added: 0, changed: 0 };
  for (const pair of pairs) {
    const { base, quote, active } = pair;
    const what = `${pair.place}: pair ${base}/${quote}`;
    const kept = await findPair(client, "(base, quote) = (upper($1), upper($2))", [base, quote]);
    if (kept !== undefined) {
      const earlier = given.get(kept.base_gem + kept.quote_gem);
      refuseDifference(what, earlier?.place ?? "the database", [
        ["base_gem", kept.base_gem, pair.base_gem ?? kept.base_gem],
        ["quote_gem", kept.quote_gem, pair.quote_gem ?? kept.quote_gem],
        ["active", earlier === undefined ? active : earlier.active, active],
      ]);
    }
    const gems =
      kept === undefined
        ? [
            await findToken(client, what, base, pair.base_gem),
            await findToken(client, what, quote, pair.quote_gem),
          ]
        : [kept.base_gem, kept.quote_gem];
    if (kept === undefined) {
      const other = await findPair(
        client,
        "market = upper($1) || upper($2) or (quote_gem, base_gem) = ($3, $4)",
        [base, quote, ...gems],
      );
      if (other !== undefined) {
        const where = given.get(other.base_gem + other.quote_gem)?.place ?? "the database";
        throw new LoadError(
          `${what} conflicts with pair ${other.base}/${other.quote} in ${where}; two tokens form a pair ` +
            "in one direction only, and base and quote joined name one pair only",
        );
      }
    }
    given.set(gems.join(""), pair);
    const wanted = active ?? kept?.active ?? true;
    if (kept?.active === wanted) continue;
    await register(client, what, "ingest.register_pair($1, $2, $3)", [...gems, wanted]);
    registered[kept === undefined ? "added" : "changed"] += 1;
  }
  return registered;
}

async function findPair(
  client: Client,
  condition: string,
  values: string[],
): Promise<KeptPair | undefined> {
  const { rows } = await client.query<KeptPair>(
    `select base, quote, base_gem, quote_gem, active
    from dex_pair
    where ${condition}`,
    values,
  );
  return rows[0];
}

/** The address of the one token with this symbol, in any letter case, and with `gem` if it is given. */
async function findToken(
  client: Client,
  what: string,
  symbol: string,
  gem: string | undefined,
): Promise<string> {
  const { rows } = await client.query<{ address: string }>(
    `select address
    from dex_token
    where upper(symbol) = upper($1)
      and ($2::text is null or address = $2)
    order by address`,
    [symbol, gem],
  );
  const [token, another] = rows;
  if (token !== undefined && another === undefined) return token.address;
  throw new LoadError(
    `${what} cannot be registered: ` +
      (token === undefined
        ? `no token has the symbol '${symbol}'${gem === undefined ? "" : ` and the address ${gem}`}`
        : `the symbol '${symbol}' names ${rows.length} tokens: ` +
          `${rows.map(({ address }) => address).join(", ")}; select one with base_gem or quote_gem`),
  );
}

/** Calls a function that registers; an error that it raises names the row. */
async function register(
  client: Client,
  what: string,
  call: string,
  values: unknown[],
): Promise<void> {
  try {
    await client.query(`select ${call}`, values);
  } catch (error) {
    throw refusedByDatabase(error, what);
  }
}

// Registers the tokens and pairs of the origin, which no digest has.
import { z } from "zod";
import type { Client } from "../connect.ts";
import { freeSymbols } from "../exchanged-symbols.ts";
import { address, flag, isText } from "../load/values.ts";
import { formats, type Format } from "../load/csv-columns.ts";
import { refusedByDatabase } from "../load/load-error.ts";
import { readRows } from "../load/read-rows.ts";
import { checksumAddress } from "../load/checksum.ts";
import { MirrorError } from "./mirror-error.ts";
import { readAnswer, type Origin } from "./origin.ts";
import { registrationPage, type RegistrationPage } from "./block-page.ts";

export type Registrations = Pick<RegistrationPage, "tokens" | "pairs">;

/** What is registered is held in memory. */
export const MAX_REGISTRY_BYTES = 64 * 1024 * 1024;
const MAX_TOKENS = 500_000;
const MAX_PAGE_BYTES = 8 * 1024 * 1024;

const MARKETS: Format<{ base_gem: string; quote_gem: string; active: boolean }> = {
  columns: {
    base_gem: { required: true, read: address },
    quote_gem: { required: true, read: address },
    active: { required: true, read: flag },
  },
  derived: [],
};

/** Of the files of a day. */
export async function registrationsOfFiles(paths: {
  tokens: string;
  markets: string;
}): Promise<Registrations> {
  const found: Registrations = { tokens: [], pairs: [] };
  for await (const token of readRows(paths.tokens, "the file of tokens", formats.tokens)) {
    const { address: at, symbol = null, decimals, name = null } = token;
    found.tokens.push({ address: at, symbol, decimals, name });
  }
  for await (const row of readRows(paths.markets, "the file of markets", MARKETS)) {
    found.pairs.push({ baseGem: row.base_gem, quoteGem: row.quote_gem, active: row.active });
  }
  return found;
}

const answer = z.object({ data: registrationPage });

/** Of a service, page by page. */
export async function registrationsOf(
  origin: Origin,
  signal: AbortSignal | undefined,
): Promise<Registrations> {
  const found: Registrations = { tokens: [], pairs: [] };
  for (let after: string | null = ""; after !== null;) {
    const path = `v2/registrations${after === "" ? "" : `?after=${after}`}`;
    const text = await origin.text(path, MAX_PAGE_BYTES, { signal, isDigested: true });
    const { data: page } = readAnswer(answer, text, "the registrations are");
    if (page.next !== null && (page.next <= after || page.tokens.length === 0)) {
      throw new MirrorError(
        `the pages of registrations do not end: one after ${after} leads to ${page.next}`,
      );
    }
    for (const token of page.tokens) {
      found.tokens.push({ ...token, address: checksumAddress(token.address) });
    }
    found.pairs.push(...page.pairs);
    if (found.tokens.length > MAX_TOKENS || found.pairs.length > MAX_TOKENS) {
      throw new MirrorError(`more than ${MAX_TOKENS} tokens or pairs are registered at the origin`);
    }
    after = page.next;
  }
  return found;
}

const REFUSED = "the registrations of the origin are refused";

/** Registers what is new or other. Throws a MirrorError where the database refuses it. */
export async function register(client: Client, { tokens, pairs }: Registrations): Promise<void> {
  for (const { address: at, symbol, name } of tokens) {
    if (isText(symbol ?? "") && isText(name ?? "")) continue;
    throw new MirrorError(
      `${REFUSED}: symbol ${JSON.stringify(symbol)} or name ${JSON.stringify(name)} of ${at} has the zero character, or a half of a surrogate pair`,
    );
  }
  try {
    await freeSymbols(client, tokens);
    await client.query(
      `select ingest.register_token(coalesce(known.address, given.address), given.symbol, given.decimals, given.name)
      from jsonb_to_recordset($1) as given (address text, symbol text, decimals integer, name text)
      left join dex_token as known on lower(known.address) = lower(given.address)
      where (known.symbol, known.decimals, known.name)
        is distinct from (given.symbol, given.decimals, given.name)`,
      [JSON.stringify(tokens)],
    );
    await client.query(
      `select ingest.register_pair(given."baseGem", given."quoteGem", given.active)
      from jsonb_to_recordset($1) as given ("baseGem" text, "quoteGem" text, active boolean)
      left join dex_pair as known
        on lower(known.base_gem) = lower(given."baseGem")
        and lower(known.quote_gem) = lower(given."quoteGem")
      where known.active is distinct from given.active`,
      [JSON.stringify(pairs)],
    );
  } catch (error) {
    const refused = refusedByDatabase(error, REFUSED);
    throw refused instanceof Error && refused !== error ? new MirrorError(refused.message) : error;
  }
}

// An exchange with what a page must bear: symbols that are HTML, long or written from right to left, and amounts of
// every size.
import type { Database } from "../../db/connect.ts";
import {
  anAddress,
  anOffer,
  aTrade,
  DAI,
  MKR,
  registerPair,
  registerTokens,
  WETH,
  write,
} from "../factories.ts";

export const HOSTILE = `<IMG SRC=X ONERROR="ALERT('1')">&AMP;`;
export const HEBREW = "שקל";
export const LONG = "A".repeat(40);

const addressOf = (symbol: string): string => anAddress(symbol);

export async function fillPageExchange(db: Database): Promise<void> {
  await registerTokens(
    db,
    { address: WETH, symbol: "WETH" },
    { address: DAI, symbol: "DAI" },
    { address: MKR, symbol: "MKR" },
    ...[HOSTILE, HEBREW, LONG, "SLASH/ED:1,2%", "OLD"].map((symbol) => ({
      address: addressOf(symbol),
      symbol,
    })),
  );
  await registerPair(db, WETH, DAI);
  // Without a trade.
  await registerPair(db, MKR, WETH);
  await registerPair(db, addressOf(HOSTILE), DAI);
  await registerPair(db, addressOf(HEBREW), addressOf(LONG));
  await registerPair(db, addressOf("SLASH/ED:1,2%"), DAI);
  await registerPair(db, addressOf("OLD"), DAI, false);
  const hostile = { baseGem: addressOf(HOSTILE), quoteGem: DAI };
  const hebrew = { baseGem: addressOf(HEBREW), quoteGem: addressOf(LONG) };
  await write(db, {
    offers: [
      anOffer({ id: 1, base: "10", quote: "1300" }),
      anOffer({ id: 2, base: "10", quote: "1400.000000000000000001" }),
      anOffer({ id: 3, side: "buy", base: "10", quote: "1200" }),
      anOffer({ id: 4, side: "buy", base: "3.5", quote: "385" }),
      anOffer({ id: 5, base: "100000000000000000000", quote: "0.000000000000001", ...hebrew }),
    ],
    trades: [
      aTrade({ hour: 1, offer_id: 90, base: "1", quote: "100" }),
      aTrade({ hour: 13, offer_id: 90, base: "2", quote: "300.000000000000000001" }),
      aTrade({ hour: 19, offer_id: 90, base: "1", quote: "123456.789012345678901234" }),
      aTrade({ hour: 20, offer_id: 91, base: "0.000000000000000001", quote: "100", ...hostile }),
      aTrade({ hour: 21, offer_id: 92, base: "100000000000000000000", quote: "100", ...hebrew }),
      aTrade({
        ...{ hour: 22, offer_id: 93, base: "2", quote: "3" },
        ...{ baseGem: addressOf("SLASH/ED:1,2%"), quoteGem: DAI },
      }),
      aTrade({
        ...{ hour: 22.5, offer_id: 94, base: "5", quote: "4" },
        ...{ baseGem: addressOf("OLD"), quoteGem: DAI },
      }),
    ],
    head: 24,
  });
}

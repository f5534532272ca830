// The columns that the events give.
import { onchainTable } from "ponder";

const shared = (t) => ({
  pair: t.hex().notNull(),
  maker: t.hex().notNull(),
  lotGem: t.hex().notNull(),
  lotAmt: t.bigint().notNull(),
  bidGem: t.hex().notNull(),
  bidAmt: t.bigint().notNull(),
  block: t.integer().notNull(),
  time: t.integer().notNull(),
  tx: t.hex().notNull(),
});

export const offer = onchainTable("offer", (t) => ({
  id: t.integer().primaryKey(),
  killed: t.integer().notNull(),
  ...shared(t),
}));

export const trade = onchainTable("trade", (t) => ({
  id: t.text().primaryKey(),
  offerId: t.integer().notNull(),
  taker: t.hex().notNull(),
  idx: t.integer().notNull(),
  ...shared(t),
}));

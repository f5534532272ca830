// Writes an offer for each LogMake, a trade for each LogTake, and the block of each LogKill into its offer.
import { ponder } from "ponder:registry";
import { offer, trade } from "ponder:schema";

const placeOf = ({ block, transaction }) => ({
  block: Number(block.number),
  time: Number(block.timestamp),
  tx: transaction.hash,
});

ponder.on("Exchange:LogMake", async ({ event, context }) => {
  const { args } = event;
  await context.db.insert(offer).values({
    id: Number(args.id),
    killed: 0,
    pair: args.pair,
    maker: args.maker,
    lotGem: args.pay_gem,
    lotAmt: args.pay_amt,
    bidGem: args.buy_gem,
    bidAmt: args.buy_amt,
    ...placeOf(event),
  });
});

ponder.on("Exchange:LogTake", async ({ event, context }) => {
  const { args } = event;
  await context.db.insert(trade).values({
    id: event.id,
    offerId: Number(args.id),
    taker: args.taker,
    idx: event.log.logIndex,
    pair: args.pair,
    maker: args.maker,
    lotGem: args.pay_gem,
    lotAmt: args.take_amt,
    bidGem: args.buy_gem,
    bidAmt: args.give_amt,
    ...placeOf(event),
  });
});

ponder.on("Exchange:LogKill", async ({ event, context }) => {
  await context.db
    .update(offer, { id: Number(event.args.id) })
    .set({ killed: Number(event.block.number) });
});

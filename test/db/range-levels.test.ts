// The levels of a pool with liquidity in ranges, as of every block of a random history, beside a swap as the contract computes it.
import { verify } from "../../db/verify/verify-database.ts";
import {
  anAddress,
  blockAt,
  DAI,
  hours,
  registerMarkets,
  registerPair,
  registerTokens,
  WETH,
} from "../factories.ts";
import { seededRandom } from "../chain/seeded-random.ts";
import { useClient, useDatabase } from "../served.ts";
import { writeStaged } from "./staged-pools.ts";

const FEE = 500n;
const MILLION = 1_000_000n;
const Q96 = 2n ** 96n;
/** The price stays this near to 1, and the ranges that are made and burned with it. */
const FARTHEST = 400;

interface Range {
  low: number;
  high: number;
  liquidity: bigint;
}

interface State {
  tick: number;
  sqrtPrice: bigint;
  ranges: readonly Range[];
}

const database = useDatabase();
const reader = useClient(database, "dex_reader");
const prices = new Map<number, bigint>();

beforeAll(async () => {
  await registerMarkets(database.writer);
  // A unit that is rounded shows in a level.
  for (const [token, symbol] of [
    [DAI, "DAI"],
    [WETH, "WETH"],
  ]) {
    await database.writer.query("select ingest.register_token($1, $2, 0)", [token, symbol]);
  }
  const { rows } = await database.owner.query<{ tick: number; price: string }>(
    "select tick, dex_private.tick_sqrt_price(tick)::text as price from generate_series(-1200, 1200) as tick",
  );
  for (const { tick, price } of rows) prices.set(tick, BigInt(price));
});

const ticksOf = ({ ranges }: State): Map<number, { net: bigint; gross: bigint }> => {
  const ticks = new Map<number, { net: bigint; gross: bigint }>();
  for (const { low, high, liquidity } of ranges) {
    for (const [tick, change] of [
      [low, liquidity],
      [high, -liquidity],
    ] as const) {
      const { net, gross } = ticks.get(tick) ?? { net: 0n, gross: 0n };
      ticks.set(tick, { net: net + change, gross: gross + liquidity });
    }
  }
  return ticks;
};

const liquidityOf = ({ tick, ranges }: State): bigint =>
  ranges
    .filter(({ low, high }) => low <= tick && tick < high)
    .reduce((sum, { liquidity }) => sum + liquidity, 0n);

const up = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

/** As the contract's loop does, of at most one word of 256 ticks in each step. */
function swap(state: State, sellsFirst: boolean, amount: bigint): bigint {
  const ticks = ticksOf(state);
  let { tick, sqrtPrice: price } = state;
  let liquidity = liquidityOf(state);
  let [left, given] = [amount, 0n];
  const first = (low: bigint, high: bigint, isUp: boolean): bigint => {
    const part = liquidity * Q96 * (high - low);
    return isUp ? up(up(part, high), low) : part / high / low;
  };
  const second = (low: bigint, high: bigint, isUp: boolean): bigint =>
    isUp ? up(liquidity * (high - low), Q96) : (liquidity * (high - low)) / Q96;
  while (left > 0n) {
    let next = sellsFirst ? tick : tick + 1;
    const isLast = (n: number): boolean => n % 256 === 0 || ticks.has(n);
    const isEnd = (n: number): boolean => (n + 1) % 256 === 0 || ticks.has(n);
    if (sellsFirst) while (!isLast(next)) next -= 1;
    else while (!isEnd(next)) next += 1;
    const target = prices.get(next)!;
    const counted = (left * (MILLION - FEE)) / MILLION;
    const whole = sellsFirst ? first(target, price, true) : second(price, target, true);
    const reached = counted >= whole;
    const end = reached
      ? target
      : sellsFirst
        ? up(liquidity * Q96 * price, liquidity * Q96 + counted * price)
        : price + (counted * Q96) / liquidity;
    given += sellsFirst ? second(end, price, false) : first(price, end, false);
    if (!reached) break;
    left -= whole + up(whole * FEE, MILLION - FEE);
    price = target;
    const { net } = ticks.get(next) ?? { net: 0n };
    liquidity += sellsFirst ? -net : net;
    tick = sellsFirst ? next - 1 : next;
  }
  return given;
}

const POOL = {
  venue: anAddress("ranges"),
  gem0: WETH,
  gem1: DAI,
  fee: Number(FEE),
  tick_spacing: 1,
};

/** What is written of a block that leads from one state to another. */
function rowOf(before: State | undefined, after: State): object {
  const [past, now] = [before ? ticksOf(before) : new Map<never, never>(), ticksOf(after)];
  const elements = [...new Set([...past.keys(), ...now.keys()])]
    .sort((one, other) => one - other)
    .flatMap((tick) => {
      const old = past.get(tick) ?? { net: 0n, gross: 0n };
      const { net, gross } = now.get(tick) ?? { net: 0n, gross: 0n };
      if (net === old.net && gross === old.gross) return [];
      return [gross === net || gross === -net ? `${tick}:${net}` : `${tick}:${net}:${gross}`];
    });
  const { tick, sqrtPrice } = after;
  return {
    ...{ ...POOL, tick, sqrt_price: String(sqrtPrice), liquidity: String(liquidityOf(after)) },
    nets: elements.join(" "),
  };
}

/** The next state, by a few acts: some of them leave ticks with nothing, and some with as much that begins as ends. */
function next({ ranges, ...price }: State, random: (below: number) => number): State {
  const own = [...ranges];
  let { tick, sqrtPrice } = price;
  for (let acts = 1 + random(8); acts > 0; acts -= 1) {
    const n = 1 + random(Math.max(own.length - 1, 1));
    const known = own[n];
    switch (random(6)) {
      case 0:
      case 1: {
        const low = tick + random(400) - 200;
        own.push({ low, high: low + 1 + random(60), liquidity: BigInt(1 + random(1e6)) });
        break;
      }
      case 2:
        if (known !== undefined) own.push({ ...known, low: known.high, high: known.high + 1 });
        break;
      case 3:
      case 4:
        if (known !== undefined) own.splice(n, 1);
        break;
      default: {
        const place = Math.min(Math.max(tick + random(101) - 50, -FARTHEST), FARTHEST);
        sqrtPrice = prices.get(place)!;
        // As where it has come down to this price.
        tick = random(2) === 0 ? place : place - 1;
      }
    }
  }
  return { tick, sqrtPrice, ranges: own };
}

async function compareLevels(hour: number, state: State): Promise<void> {
  await reader.query("begin");
  await reader.query("select set_config('dex.as_of_block', $1, true)", [String(blockAt(hour))]);
  const { rows } = await reader.query<{ act: string; vol: string; quote: string }>(
    "select act, trim_scale(vol)::text as vol, trim_scale(quote_vol)::text as quote from dex_book('WETH', 'DAI', 100)",
  );
  await reader.query("rollback");
  const seen: unknown[] = [];
  const right: unknown[] = [];
  for (const act of ["buy", "sell"]) {
    let [taken, given] = [0n, 0n];
    for (const level of rows.filter((row) => row.act === act)) {
      const [base, quote] = [BigInt(level.vol), BigInt(level.quote)];
      taken += act === "buy" ? base : quote;
      given += act === "buy" ? quote : base;
      seen.push([hour, act, taken, given]);
      right.push([hour, act, taken, swap(state, act === "buy", taken)]);
    }
  }
  expect(seen).toHaveLength(20);
  expect(seen).toEqual(right);
}

it("are what a swap of all up to each one gives, also where ticks are empty or have as much that begins as ends", async () => {
  const random = seededRandom(7);
  const WIDE = { low: -5000, high: 5000, liquidity: 10n ** 9n };
  const states: State[] = [{ tick: 0, sqrtPrice: Q96, ranges: [WIDE] }];
  for (let hour = 1; hour <= 12; hour += 1) states.push(next(states.at(-1)!, random));
  // All is burned.
  states.push({ ...states.at(-1)!, ranges: [WIDE] });
  const all = states.map((state, hour) => ({ hour, state, pool: rowOf(states[hour - 1], state) }));
  const found = all.map(({ pool }) => (pool as { nets: string }).nets).join(" ");
  expect([/:0( |$)/.test(found), /:0:[1-9]/.test(found)]).toEqual([true, true]);
  const compareAll = async (): Promise<void> => {
    for (const { hour, state } of all) await compareLevels(hour, state);
    expect(await verify(await database.connect("dex_owner"))).toEqual([]);
  };

  for (const { hour, pool } of all) {
    await database.writer.query("select ingest.write_block($1, $2, pools => $3)", [
      ...[blockAt(hour), hours(hour), JSON.stringify([pool])],
    ]);
    await compareLevels(hour, states[hour]!);
  }
  await compareAll();
  for (const to of [10, 5]) {
    await database.writer.query("select ingest.take_back($1)", [blockAt(to)]);
    await compareLevels(to, states[to]!);
    await writeStaged(database, all.slice(to + 1));
    await compareAll();
  }
});

it.each([
  // 2 % beyond the tick 887100 is the tick 887298, behind the last price that there is.
  { end: "highest", act: "sell", tick: 887_100, low: 880_020, high: 887_220 },
  { end: "lowest", act: "buy", tick: -887_100, low: -887_220, high: -880_020 },
])("have all that is in a range up to the $end price of a pool", async (pool) => {
  const { end, act, tick, low, high } = pool;
  const gem = anAddress(end);
  await registerTokens(database.writer, { address: gem, symbol: end, name: end });
  await registerPair(database.writer, gem, DAI);
  await database.writer.query("select ingest.register_token($1, $2, 0)", [gem, end]);
  const { rows } = await database.owner.query<{ price: string }>(
    "select dex_private.tick_sqrt_price(tick)::text as price from unnest($1::integer[]) as tick",
    [[tick, act === "sell" ? high : low]],
  );
  const [now, last] = rows.map(({ price }) => BigInt(price)) as [bigint, bigint];
  const liquidity = 10n ** 45n;
  const row = {
    ...{ ...POOL, venue: anAddress(`pool of ${end}`), gem0: gem, tick_spacing: 60 },
    ...{ tick, sqrt_price: String(now), liquidity: String(liquidity) },
    nets: `${low}:${liquidity} ${high}:-${liquidity}`,
  };
  const hour = act === "sell" ? 100 : 101;
  await database.writer.query("select ingest.write_block($1, $2, pools => $3)", [
    ...[blockAt(hour), hours(hour), JSON.stringify([row])],
  ]);

  const levels = await reader.query<{ given: string }>(
    `select trim_scale(sum(case act when 'sell' then vol else quote_vol end))::text as given
    from dex_book($1, 'DAI')
    where act = $2`,
    [end, act],
  );

  // Up to the last tick with liquidity: L × 2^96 × (1 ÷ now − 1 ÷ last) of the first token, L × (now − last) ÷ 2^96 of the second.
  const given =
    act === "sell"
      ? (liquidity * Q96 * (last - now)) / (last * now)
      : (liquidity * (now - last)) / Q96;
  expect(levels.rows).toEqual([{ given: String(given) }]);
});

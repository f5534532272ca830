// Loads all bars of a market as TradingView's charting library does: the newest ones, then further and further back.
//
//   node udf.ts http://localhost:3000 WETH/DAI 60
const [service = "http://localhost:3000", symbol = "WETH/DAI", resolution = "60"] =
  process.argv.slice(2);
const COUNTBACK = 300;

/** The format has numbers: digits beyond the 16th are lost. */
interface Bars {
  s: "ok";
  t: number[];
  o: number[];
  h: number[];
  l: number[];
  c: number[];
  v: number[];
}
type History = Bars | { s: "no_data" } | { s: "error"; errmsg: string };

async function get<Answer>(path: string, query: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`${service}/udf/${path}?${new URLSearchParams(query).toString()}`);
  return (await response.json()) as Answer;
}

const config = await get<{ supported_resolutions: string[] }>("config");
if (!config.supported_resolutions.includes(resolution)) {
  throw new Error(`resolution must be one of ${config.supported_resolutions.join(", ")}`);
}
const info = await get<{ s?: "error"; errmsg?: string; ticker: string; pricescale: number }>(
  "symbols",
  { symbol },
);
if (info.s === "error") throw new Error(info.errmsg);

const lines: string[] = [];
// `to` is not included.
let to = (await get<number>("time")) + 1;
for (;;) {
  const history = await get<History>("history", {
    ...{ symbol: info.ticker, resolution, from: "0" },
    ...{ to: String(to), countback: String(COUNTBACK) },
  });
  if (history.s === "error") throw new Error(history.errmsg);
  if (history.s === "no_data") break;
  const page = history.t.map((time, n) => {
    const bar = [history.o[n], history.h[n], history.l[n], history.c[n], history.v[n]];
    return `${new Date(time * 1000).toISOString()} ${bar.join(" ")}`;
  });
  lines.unshift(...page);
  to = history.t[0] ?? 0;
}
for (const line of lines) console.log(line);

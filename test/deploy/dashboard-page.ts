// The page of a dashboard: a row of headings, numbers and lines, at the places that Grafana gives them.

export interface Drawn {
  type: string;
  title: string;
  /** In a grid of 24 columns. */
  at: { x: number; y: number; w: number; h: number };
  /** As Grafana names it. */
  unit: string;
  /** Whether a number's place has the name of its line. */
  isName: boolean;
  /** What stands for a value. */
  texts: Record<string, { text: string }>;
  lines: { name: string; points: [seconds: number, value: number][] }[];
}

const COLOURS = [
  "#73bf69",
  "#f2cc0c",
  "#5794f2",
  "#ff9830",
  "#f2495c",
  "#b877d9",
  "#8ab8ff",
  "#c4a000",
];
/** Pixels of a column and of a row of the grid. */
const COLUMN = 52;
const ROW = 30;

/** A document without scripts. */
export function pageOf(panels: readonly Drawn[]): string {
  const height = Math.max(...panels.map(({ at }) => at.y + at.h)) * ROW;
  return `<!doctype html><style>
    body { margin: 16px; background: #111217; color: #ccccdc; font: 12px sans-serif; position: relative; height: ${height}px }
    section { position: absolute; box-sizing: border-box; background: #181b1f; border: 1px solid #2c3036; padding: 6px 8px; overflow: hidden }
    .row { background: none; border: 0; font-weight: bold }
    .number { font-size: 26px; color: #73bf69; padding-top: 14px; text-align: center }
    svg { display: block }
    text { fill: #8e9099; font-size: 10px }
    i { display: inline-block; width: 10px; height: 3px; margin-right: 4px; vertical-align: middle }
    span { margin-right: 10px; white-space: nowrap }
  </style>${panels.map(sectionOf).join("")}`;
}

function sectionOf(panel: Drawn): string {
  const { type, title, at } = panel;
  const place = `left: ${at.x * COLUMN}px; top: ${at.y * ROW}px; width: ${at.w * COLUMN - 6}px; height: ${at.h * ROW - 6}px`;
  if (type === "row") return `<section class="row" style="${place}">${escaped(title)}</section>`;
  const content = type === "stat" ? numberOf(panel) : linesOf(panel);
  return `<section style="${place}">${escaped(title)}${content}</section>`;
}

function numberOf({ lines: [line], unit, isName, texts }: Drawn): string {
  const last = line?.points.at(-1)?.[1];
  const value = last === undefined ? "No data" : (texts[last]?.text ?? valueOf(last, unit));
  return `<div class="number">${escaped(isName ? (line?.name ?? value) : value)}</div>`;
}

function linesOf({ lines, unit, at }: Drawn): string {
  if (lines.length === 0) return `<div class="number" style="color: #8e9099">No data</div>`;
  const [width, height, left] = [at.w * COLUMN - 30, at.h * ROW - 70, 56];
  const points = lines.flatMap((line) => line.points).filter(([, value]) => Number.isFinite(value));
  const [from, to] = [Math.min(...points.map(([x]) => x)), Math.max(...points.map(([x]) => x))];
  const [low, high] = [
    Math.min(...points.map(([, y]) => y), unit === "none" ? Infinity : 0),
    Math.max(...points.map(([, y]) => y)),
  ];
  const xOf = (x: number): number => left + ((x - from) / (to - from || 1)) * (width - left);
  const yOf = (y: number): number => 8 + (1 - (y - low) / (high - low || 1)) * (height - 16);
  const drawn = lines.map(({ points: own }, n) => {
    const place = own
      .filter(([, value]) => Number.isFinite(value))
      .map(([x, y]) => `${xOf(x).toFixed(1)},${yOf(y).toFixed(1)}`)
      .join(" ");
    return `<polyline fill="none" stroke="${COLOURS[n % COLOURS.length]}" points="${place}"/>`;
  });
  const labels = [low, high].map(
    (y) => `<text x="0" y="${yOf(y) + 4}">${escaped(valueOf(y, unit))}</text>`,
  );
  const names = lines.map(
    ({ name }, n) =>
      `<span><i style="background: ${COLOURS[n % COLOURS.length]}"></i>${escaped(name)}</span>`,
  );
  return `<svg width="${width}" height="${height}">${labels.join("")}${drawn.join("")}</svg>${names.join("")}`;
}

function valueOf(value: number, unit: string): string {
  const short = (number: number): string => String(Number(number.toPrecision(3)));
  switch (unit) {
    case "s":
      return value < 1 ? `${short(value * 1000)} ms` : `${short(value)} s`;
    case "bytes":
      return value < 1e6 ? `${short(value / 1e3)} kB` : `${short(value / 1e6)} MB`;
    case "percentunit":
      return `${short(value * 100)} %`;
    case "reqps":
      return `${short(value)} /s`;
    default:
      return Number.isInteger(value) ? String(value) : short(value);
  }
}

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (one) => `&#${one.charCodeAt(0)};`);

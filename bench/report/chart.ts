// Draws the ratios as an SVG bar chart for light and dark backgrounds.
import { isReached, type Ratio } from "./goals.ts";

const WIDTH = 860;
const LABEL_WIDTH = 330;
const BAR_SPACE = 440;
const ROW = 22;
const HEAD = 36;
const MARGIN = 14;

// Bars of medium lightness contrast with white and with black.
const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .group { font-weight: 600; }
  .small { font-size: 12px; }
  .reached { fill: #2f81c7; }
  .missed { fill: #d9822b; }
  .bound { stroke: #57606a; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #d0d7de; }
    .bound { stroke: #d0d7de; }
  }
`;

/** Draws a bar for each ratio, by group, with a line at its bound. Each group has its own scale from 0. */
export function ratioChart(title: string, ratios: Ratio[]): string {
  const groups = Map.groupBy(ratios, ({ group }) => group);
  const parts: string[] = [text(MARGIN, MARGIN + 12, title, "group")];
  let y = MARGIN + 24;
  for (const [group, members] of groups) {
    const [first] = members;
    if (first === undefined) continue;
    parts.push(text(MARGIN, y + HEAD - 14, `${group}: ${boundText(first)}`, "group"));
    y += HEAD;
    const scale = BAR_SPACE / Math.max(...members.map((one) => Math.max(one.ratio, boundOf(one))));
    for (const member of members) {
      parts.push(bar(member, y, scale));
      y += ROW;
    }
  }
  const height = y + MARGIN;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escape(title)}">
<style>${STYLE}</style>
${parts.join("\n")}
</svg>
`;
}

function bar(one: Ratio, y: number, scale: number): string {
  const length = round(one.ratio * scale);
  const bound = round(LABEL_WIDTH + boundOf(one) * scale);
  const end = LABEL_WIDTH + Math.max(length, boundOf(one) * scale) + 8;
  return [
    text(LABEL_WIDTH - 8, y + 15, one.name, "small", "end"),
    `<rect class="${isReached(one) ? "reached" : "missed"}" x="${LABEL_WIDTH}" y="${y + 3}" width="${length}" height="${ROW - 6}" rx="2"/>`,
    `<line class="bound" x1="${bound}" x2="${bound}" y1="${y}" y2="${y + ROW}"/>`,
    text(end, y + 15, `${one.ratio.toFixed(2)} ×`, "small"),
  ].join("\n");
}

const boundOf = ({ bound }: Ratio): number => ("atLeast" in bound ? bound.atLeast : bound.atMost);

const boundText = ({ bound }: Ratio): string =>
  "atLeast" in bound ? `at least ${bound.atLeast} ×` : `at most ${bound.atMost} ×`;

const text = (x: number, y: number, content: string, kind: string, anchor = "start"): string =>
  `<text class="${kind}" x="${round(x)}" y="${y}" text-anchor="${anchor}">${escape(content)}</text>`;

const round = (value: number): number => Math.round(value * 10) / 10;

const escape = (content: string): string =>
  content.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

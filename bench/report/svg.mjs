import { overview } from "./overview.mjs";

/**
 * Chart with a bar per peer for each wire: its calls per second as a share of the floor, which is the line at 1. Its
 * colours follow the reader's colour scheme.
 */
const cell = "echo@16";
const width = 760;
const left = 166;
const right = 130;
const bar = 16;
const gap = 6;
const titleHeight = 34;
const top = 58;

/** Returns the chart of the wires in the overview. */
export function toOverviewSvg({ calls = {}, run }) {
  const shown = Object.entries(overview).filter(([wire]) => calls[wire] !== undefined);
  return toSvg({ calls: Object.fromEntries(shown.map(([wire, name]) => [name, calls[wire]])), run });
}

export function toSvg({ calls = {}, run }) {
  const groups = Object.entries(calls).map(([wire, peers]) => ({ wire, bars: barsOf(peers) }));
  const most = Math.max(1, ...groups.flatMap(({ bars }) => bars.map(({ share }) => share)));
  const x = (share) => left + (share / most) * (width - left - right);
  let y = top;
  const parts = [];
  for (const { wire, bars } of groups) {
    parts.push(text(0, y + 18, wire, "wire"));
    y += titleHeight - 6;
    const begin = y;
    for (const one of bars) {
      parts.push(drawBar(one, y, x));
      y += bar + gap;
    }
    parts.push(`<line class="floor" x1="${at(x(1))}" x2="${at(x(1))}" y1="${begin - 4}" y2="${y - 2}"/>`);
    y += 8;
  }
  return wrap(y + 12, [
    text(0, 20, "Calls per second as a share of bare node", "title"),
    text(
      0,
      40,
      `a small tool call, 16 at once; the dashed line is bare node; Node ${run.node}, ${run.cores} cores, ${run.date}`,
      "note",
    ),
    ...parts,
  ]);
}

function barsOf(peers) {
  return Object.entries(peers)
    .filter(([peer, row]) => peer !== "bare" && row[cell]?.ofFloor !== undefined)
    .map(([peer, row]) => ({ peer, share: row[cell].ofFloor.median, perSecond: row[cell].perSecond.median }))
    .sort((a, b) => b.share - a.share);
}

function drawBar({ peer, share, perSecond }, y, x) {
  const own = peer === "bowline" ? " own" : "";
  const length = Math.max(1, x(share) - left);
  const label = `${share < 0.1 ? share.toFixed(3) : share.toFixed(2)} · ${Math.round(perSecond).toLocaleString("en-US")}/s`;
  return [
    text(left - 8, y + bar - 4, peer, `name${own}`),
    `<rect class="bar${own}" x="${left}" y="${y}" width="${at(length)}" height="${bar}" rx="2"/>`,
    text(width - right + 10, y + bar - 4, label, "value"),
  ].join("");
}

const at = (value) => Number(value.toFixed(1));

const text = (x, y, value, kind) => `<text class="${kind}" x="${at(x)}" y="${y}">${plain(value)}</text>`;

const plain = (value) => value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const style = `
text { font: 12px system-ui, sans-serif; fill: #3d444d; }
.title { font-size: 16px; font-weight: 600; fill: #1f2328; }
.wire { font-size: 13px; font-weight: 600; fill: #1f2328; }
.name { text-anchor: end; }
.name.own { font-weight: 600; fill: #0550ae; }
.bar { fill: #afb8c1; }
.bar.own { fill: #0969da; }
.floor { stroke: #cf222e; stroke-dasharray: 3 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #b1bac4; }
  .title, .wire { fill: #f0f6fc; }
  .name.own { fill: #79c0ff; }
  .bar { fill: #57606a; }
  .bar.own { fill: #388bfd; }
  .floor { stroke: #ff7b72; }
}`;

function wrap(height, parts) {
  const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Calls per second of each SDK on each wire, as a share of bare node">`;
  return `${open}\n<style>${style}\n</style>\n${parts.join("\n")}\n</svg>\n`;
}

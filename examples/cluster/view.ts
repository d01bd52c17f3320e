import type { Load } from "./load.js";
import type { Status } from "./nodes.js";

/** State that the view shows. */
export interface Scene {
  readonly engine: { readonly name: string; readonly status: Status };
  readonly nodes: readonly {
    readonly name: string;
    readonly status: Status;
    readonly stats: { readonly running: number; readonly sessions: number; readonly streams: number };
  }[];
  readonly counts: Load["counts"];
  /** Calls that were answered in each of the last seconds, the newest last. */
  readonly perSecond: readonly number[];
  readonly seconds: number;
  readonly url: string;
  /** Reports, the newest last. */
  readonly reports: readonly string[];
}

export interface Screen {
  readonly columns: number;
  readonly rows: number;
  readonly colours: boolean;
}

type Paint = "bold" | "dim" | "green" | "yellow" | "red";
/** Part of a line: a text and its colour. */
type Piece = readonly [text: string, paint?: Paint];

const CODES: Readonly<Record<Paint, number>> = { bold: 1, dim: 2, green: 32, yellow: 33, red: 31 };
const PAINTS: Readonly<Record<Status, Paint>> = {
  ok: "green",
  degraded: "yellow",
  starting: "yellow",
  stopped: "red",
  killed: "red",
};
const BARS = "▁▂▃▄▅▆▇█";
const KEYS = "1 2 3 kill a node   s stop a node   e kill the engine   q quit";
const BRIEF_KEYS = "1 2 3 kill  s stop  e engine  q quit";

/** Returns the lines of the view, none wider and not more than the screen has. */
export function linesOf(scene: Scene, { columns, rows, colours }: Screen): readonly string[] {
  const head = [...titleOf(scene), [], ...callsOf(scene, columns), [], ...partsOf(scene, columns), []];
  const keys: Piece[] = [[columns < KEYS.length ? BRIEF_KEYS : KEYS, "dim"]];
  const room = Math.max(0, rows - head.length - 2);
  const reports = room === 0 ? [] : scene.reports.slice(-room).map((report): Piece[] => [[report]]);
  const all = [...head.slice(0, rows - 1), keys, ...(reports.length === 0 ? [] : [[], ...reports])];
  return all.slice(0, rows).map((pieces) => toText(pieces, columns, colours));
}

function titleOf({ engine, seconds, url }: Scene): Piece[][] {
  return [[["Bowline", "bold"], [`  three nodes, nginx, ${engine.name}  `], [timeOf(seconds), "dim"]], [[url, "dim"]]];
}

function callsOf({ counts, perSecond }: Scene, columns: number): Piece[][] {
  const most = Math.max(1, ...perSecond);
  const bars = perSecond.map((count) => BARS[Math.round((count / most) * (BARS.length - 1))]).join("");
  const chart = bars.slice(-Math.max(1, columns - 32));
  const alarm = (count: number): Paint | undefined => (count > 0 ? "yellow" : undefined);
  return [
    row("answers per second", perSecond.at(-1) ?? 0, [`  ${chart}`, "dim"]),
    row("answered", counts.answered),
    row("not delivered", counts.undelivered, ["  may be repeated", "dim"], alarm(counts.undelivered)),
    row("outcome unknown", counts.unknown, ["  may have run", "dim"], alarm(counts.unknown)),
    row("questions answered", counts.questions, [`  ${grouped(counts.elsewhere)} on another node`, "dim"]),
    row("events", counts.events),
  ];
}

function partsOf({ engine, nodes }: Scene, columns: number): Piece[][] {
  const name = (text: string): Piece => [text.padEnd(9)];
  const state = (status: Status): Piece => [status.padEnd(9), PAINTS[status]];
  const isUp = (status: Status) => status === "ok" || status === "degraded";
  const room = Math.max(0, Math.floor((columns - 18) / 10)); // columns of numbers that fit
  const rest = (cells: readonly (number | string)[]) =>
    cells
      .map((cell) => String(cell).padStart(10))
      .slice(0, room)
      .join("");
  return [
    [
      ["         state    ", "dim"],
      [rest(["in flight", "sessions", "streams"]), "dim"],
    ],
    ...nodes.map(({ name: text, status, stats: { running, sessions, streams } }): Piece[] => [
      name(text),
      state(status),
      [rest(isUp(status) ? [running, sessions, streams].map(grouped) : ["-", "-", "-"])],
    ]),
    [name(engine.name), state(engine.status)],
  ];
}

function row(label: string, count: number, remark: Piece = [""], paint?: Paint): Piece[] {
  const text = grouped(count).padStart(8);
  return [[label.padEnd(20)], paint === undefined ? [text] : [text, paint], remark];
}

/** Cuts a line to the width of the screen. A remark after its beginning is left out if it does not fit. */
function toText(pieces: readonly Piece[], columns: number, colours: boolean): string {
  let left = columns;
  let text = "";
  for (const [piece, paint] of pieces) {
    const isLost = paint === "dim" && text !== "" && piece.length > left;
    const part = isLost ? "" : piece.slice(0, left);
    left -= part.length;
    text += colours && paint !== undefined && part !== "" ? `\u001b[${CODES[paint]}m${part}\u001b[0m` : part;
  }
  return text;
}

/** Writes a number with separators: 12,345. */
export const grouped = (count: number) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

export function timeOf(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds) % 60).padStart(2, "0")}`;
}

import type { Span, SpanLane, SpanMark } from "../../recording/spans.js";
import { waitsOf } from "./run.js";
import { LANES, labelOf } from "./text.js";

/** Part of the run that the timeline shows, in microseconds. */
export interface View {
  readonly from: number;
  readonly to: number;
}

/** Bar of a span, in pixels from the left edge of its lane. */
export interface Bar {
  readonly span: Span;
  readonly row: number;
  readonly left: number;
  readonly width: number;
  readonly label: string;
  /** Where the label stands: in the bar, or beside it where it has no room. */
  readonly side: "in" | "right" | "left";
  /** Periods in which the user is asked, in pixels from the left edge of the bar. */
  readonly waits: readonly { readonly left: number; readonly width: number }[];
  readonly marks: readonly { readonly left: number; readonly kind: SpanMark["kind"]; readonly text: string }[];
}

/** Row of the timeline with its bars. Spans that are too narrow, or too many, are summed up as density. */
export interface Lane {
  readonly key: string;
  readonly lane: SpanLane;
  readonly label: string;
  /** Connection, where lanes are divided by connection. */
  readonly c: number | undefined;
  readonly rows: number;
  readonly bars: readonly Bar[];
  /** Hidden spans at each pixel. Undefined if none is hidden. */
  readonly density: Density | undefined;
  readonly hidden: number;
}

/** Numbers of spans at each pixel: all, and those that failed. */
export interface Density {
  readonly all: Uint16Array;
  readonly failed: Uint16Array;
}

/** Limits of what is drawn. */
export const TIMELINE_LIMITS = {
  /** Bars that are drawn at once. */
  maxBars: 400,
  /** Rows of bars in a lane. */
  maxRows: 8,
  /** Rows in which labels may stand beside their bars. Below them, a bar goes without where that saves a row. */
  labelledRows: 3,
  /** Rows of a lane that sums up spans. */
  denseRows: 3,
  /** Connections up to which each has lanes of its own. */
  maxConnections: 4,
  /** Width that a bar needs in pixels where not all are drawn. */
  minWidth: 2,
};

const CHARACTER = 6.4;
const LABEL_PADDING = 12;
const MAX_LABEL = 150;
/** Width of the narrowest bar that is drawn. */
const NARROWEST = 4;
/** Room that is left beside the last bar of a whole run. */
const END = 24;

/** Arranges spans in lanes for a view of some pixels. The picked span is always drawn. */
export function layOut(spans: readonly Span[], view: View, width: number, picked?: number): readonly Lane[] {
  const scale = width / Math.max(1, view.to - view.from);
  const isIn = (span: Span) => span.to >= view.from && span.from <= view.to;
  const least = leastWidth(spans, isIn, scale);
  const groups = new Map<string, { readonly lane: SpanLane; readonly c: number | undefined; readonly spans: Span[] }>();
  const connections = new Set(spans.filter(({ lane }) => lane !== "auth").map(({ c }) => c));
  const isDivided = connections.size > 1 && connections.size <= TIMELINE_LIMITS.maxConnections;
  for (const span of spans) {
    const c = isDivided && span.lane !== "auth" ? span.c : undefined;
    const key = `${c ?? ""} ${span.lane}`;
    const group = groups.get(key) ?? { lane: span.lane, c, spans: [] };
    groups.set(key, group);
    group.spans.push(span);
  }
  const order = Object.keys(LANES);
  const whole = { from: spans[0]?.from ?? 0, to: spans.reduce((latest, { to }) => Math.max(latest, to), 0) };
  return [...groups]
    .sort(([, a], [, b]) => (a.c ?? 0) - (b.c ?? 0) || order.indexOf(a.lane) - order.indexOf(b.lane))
    .map(([key, { lane, c, spans: own }]) => {
      const packed = pack(own, whole, { view, scale, least, picked });
      const bars = packed.filter(({ span }) => isIn(span));
      const drawn = new Set(bars.map(({ span }) => span));
      const hidden = own.filter((span) => isIn(span) && !drawn.has(span));
      return {
        key,
        lane,
        label: LANES[lane],
        c,
        rows: Math.max(hidden.length > 0 ? TIMELINE_LIMITS.denseRows : 1, ...packed.map(({ row }) => row + 1)),
        bars,
        density: hidden.length === 0 ? undefined : densityOf(hidden, view, scale, width),
        hidden: hidden.length,
      };
    });
}

/** Returns the width that a bar needs, so that not too many are drawn: none while there are few. */
function leastWidth(spans: readonly Span[], isIn: (span: Span) => boolean, scale: number): number {
  const widths = spans.filter(isIn).map(({ from, to }) => (to - from) * scale);
  if (widths.length <= TIMELINE_LIMITS.maxBars) return 0;
  let least = TIMELINE_LIMITS.minWidth;
  while (widths.filter((width) => width >= least).length > TIMELINE_LIMITS.maxBars) least *= 2;
  return least;
}

interface Drawing {
  readonly view: View;
  /** Pixels of a microsecond. */
  readonly scale: number;
  /** Width that a bar needs. */
  readonly least: number;
  readonly picked: number | undefined;
}

/**
 * Gives each span the first row that is free. Rows depend on the scale and not on the place of the view, so that bars
 * stay in their rows while the timeline is moved.
 */
function pack(spans: readonly Span[], whole: View, { view, scale, least, picked }: Drawing): Bar[] {
  const bars: Bar[] = [];
  const ends: number[] = [];
  const { labelledRows } = TIMELINE_LIMITS;
  for (const span of spans) {
    const isPicked = span.line === picked;
    const own = (span.to - span.from) * scale;
    if (own < least && !isPicked) continue;
    const left = (span.from - view.from) * scale;
    const width = Math.max(own, NARROWEST);
    const label = span.lane === "auth" ? (span.method ?? "") : labelOf(span);
    const room = Math.min(MAX_LABEL, label.length * CHARACTER + LABEL_PADDING);
    const isAtEnd = (whole.to - span.to) * scale < room - END && (span.from - whole.from) * scale > room;
    const wanted = room <= width || least > 0 ? "in" : isAtEnd ? "left" : "right";
    const firstFree = (begin: number) => {
      const free = ends.findIndex((each) => each <= begin);
      return free === -1 ? ends.length : free;
    };
    const labelled = firstFree(wanted === "left" ? left - room : left);
    const bare = labelled < labelledRows ? labelled : firstFree(left);
    const side = bare < labelled || (labelled >= labelledRows && wanted === "right") ? "in" : wanted;
    const row = Math.min(bare, labelled);
    const end = left + width + (side === "right" ? room : 1);
    if (row >= TIMELINE_LIMITS.maxRows && !isPicked) continue;
    ends[Math.min(row, TIMELINE_LIMITS.maxRows - 1)] = end;
    bars.push({
      span,
      row: Math.min(row, TIMELINE_LIMITS.maxRows - 1),
      left,
      width,
      // Half of a label says nothing.
      label: side === "in" && room > width * 1.6 ? "" : label,
      side,
      ...details(span, left, width, scale, view),
    });
  }
  return bars;
}

function details(span: Span, left: number, width: number, scale: number, view: View): Pick<Bar, "waits" | "marks"> {
  const at = (t: number) => Math.min(width, Math.max(0, (t - view.from) * scale - left));
  const marks: { left: number; kind: SpanMark["kind"]; text: string }[] = [];
  for (const { t, kind, text } of span.marks) {
    const place = at(t);
    const last = marks.at(-1);
    // Two marks of a kind in the same pixels look like one.
    if (last === undefined || last.kind !== kind || place - last.left >= 3) marks.push({ left: place, kind, text });
  }
  const waits = waitsOf(span).map(({ from, to }) => ({ left: at(from), width: at(to) - at(from) }));
  return { waits, marks };
}

/** Most that is counted at a pixel. */
const MOST = 65_535;

function densityOf(spans: readonly Span[], view: View, scale: number, width: number): Density {
  const size = Math.max(1, Math.ceil(width));
  const [all, failed] = [new Uint16Array(size), new Uint16Array(size)];
  const at = (t: number) => Math.min(size - 1, Math.max(0, Math.floor((t - view.from) * scale)));
  for (const { from, to, state } of spans)
    for (let pixel = at(from); pixel <= at(to); pixel++) {
      all[pixel] = Math.min(MOST, (all[pixel] ?? 0) + 1);
      if (state === "error" || state === "lost") failed[pixel] = Math.min(MOST, (failed[pixel] ?? 0) + 1);
    }
  return { all, failed };
}

/** Returns moments for the scale above the lanes: about one for each hundred pixels, at round numbers. */
export function ticksOf(view: View, width: number): readonly number[] {
  const wanted = (view.to - view.from) / Math.max(1, width / 110);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, wanted)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= wanted) ?? 10 * power;
  const ticks: number[] = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) ticks.push(t);
  return ticks;
}

/** Shortest period that the timeline shows, in microseconds. */
const SHORTEST = 50;

/** Zooms around a moment, within the run. */
export function zoomed({ from, to }: View, at: number, factor: number, end: number): View {
  const length = Math.min(end, Math.max(SHORTEST, (to - from) * factor));
  const share = (at - from) / Math.max(1, to - from);
  return within(at - share * length, length, end);
}

/** Moves by a share of the view, within the run. */
export function moved({ from, to }: View, share: number, end: number): View {
  return within(from + (to - from) * share, to - from, end);
}

/** Moves a view as little as is necessary, so that a span can be seen. */
export function revealing(view: View, span: Span, end: number): View {
  const length = view.to - view.from;
  if (span.from >= view.from && span.from <= view.to - length * 0.05) return view;
  return within(span.from - length * 0.3, length, end);
}

function within(from: number, length: number, end: number): View {
  const start = Math.max(0, Math.min(from, end - length));
  return { from: start, to: start + length };
}

/** View of all spans, with a little room on both sides. */
export function wholeOf(spans: readonly Span[], end: number): View {
  const begin = spans[0]?.from ?? 0;
  const room = Math.max(SHORTEST, end - begin) * 0.02;
  return { from: Math.max(0, begin - room), to: Math.max(begin + SHORTEST, end + room) };
}

import { useSignal } from "@preact/signals";
import type { JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Span } from "../../recording/spans.js";
import { stateOf } from "../model/run.js";
import { countText, durationText, LANES, labelOf, STATES } from "../model/text.js";
import { type Bar, type Density, type Lane, layOut, moved, revealing, ticksOf, zoomed } from "../model/timeline.js";
import { pick, picked, run, scheme, spans, tab, view, visibleView } from "../state.js";
import { Icon } from "./icon.js";

const ROW = 22;

/** Calls of the run on an axis of time, in lanes. */
export function Timeline(): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const width = useSignal(900);
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const measure = () => (width.value = Math.max(100, element.querySelector(".track")?.clientWidth ?? 100));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    const onWheel = (event: WheelEvent) => turn(event, element, width.value);
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("wheel", onWheel);
    };
  }, []);
  const now = visibleView.value;
  const lanes = layOut(spans.value, now, width.value, picked.value);
  const hasFocus = box.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    // An update never takes the focus away: it follows the picked bar.
    if (hasFocus)
      box.current?.querySelector<HTMLElement>("[role=gridcell][tabindex='0']")?.focus({ preventScroll: false });
  }, [picked.value]);
  const focused = lanes.some(({ bars }) => bars.some(({ span }) => span.line === picked.value))
    ? picked.value
    : lanes.find(({ bars }) => bars.length > 0)?.bars[0]?.span.line;
  const scale = width.value / (now.to - now.from);
  return (
    <section class="timeline" aria-label="Timeline" ref={box}>
      <div class="axis">
        <div class="zoom">
          <button
            type="button"
            class="icon-button"
            title="Zoom out (-)"
            aria-label="Zoom out"
            onClick={() => zoomBy(1.6)}
          >
            <Icon name="minus" />
          </button>
          <button
            type="button"
            class="icon-button"
            title="Zoom in (+)"
            aria-label="Zoom in"
            onClick={() => zoomBy(0.6)}
          >
            <Icon name="plus" />
          </button>
          <button
            type="button"
            class="icon-button"
            title="Show all (0)"
            aria-label="Show all"
            onClick={() => (view.value = undefined)}
          >
            <Icon name="fit" />
          </button>
        </div>
        <div class="track" aria-hidden="true">
          {ticksOf(now, width.value).map((t) => (
            <span class="tick" key={t} style={{ left: `${(t - now.from) * scale}px` }}>
              {durationText(t)}
            </span>
          ))}
        </div>
      </div>
      {lanes.length === 0 ? (
        <p class="hint">
          {run.value?.spans.length
            ? "No call has the words of the filter."
            : "No traffic yet. Calls appear here as they happen."}
        </p>
      ) : (
        <div
          class="lanes"
          role="grid"
          aria-label="Calls by time"
          tabIndex={focused === undefined ? 0 : -1}
          onKeyDown={(event) => move(event, lanes)}
        >
          {lanes.map((lane) => (
            <LaneRow
              key={lane.key}
              lane={lane}
              focused={focused}
              ticks={ticksOf(now, width.value).map((t) => (t - now.from) * scale)}
            />
          ))}
        </div>
      )}
    </section>
  );
}

interface LaneProps {
  readonly lane: Lane;
  readonly focused: number | undefined;
  readonly ticks: readonly number[];
}

function LaneRow({ lane, focused, ticks }: LaneProps): JSX.Element {
  const { label, bars, rows, density, hidden, c } = lane;
  const connection = c === undefined ? undefined : run.value?.connection(c);
  const note = hidden === 0 ? "" : `, ${countText(hidden, "call")} not drawn at this scale`;
  return (
    <div class="lane" role="row" aria-label={`${label}${connection?.version ? ` ${connection.version}` : ""}${note}`}>
      <div class="lane-name" role="rowheader">
        {label}
        {c !== undefined && <small>{connection?.version ?? `connection ${c}`}</small>}
      </div>
      <div class="track" role="presentation" style={{ height: `${rows * ROW + 6}px` }}>
        {ticks.map((left) => (
          <span class="grid-line" key={left} style={{ left: `${left}px` }} />
        ))}
        {density !== undefined && <DensityCanvas of={density} height={rows * ROW + 6} />}
        {bars.map((bar) => (
          <BarCell key={bar.span.line} bar={bar} isFocused={bar.span.line === focused} />
        ))}
      </div>
    </div>
  );
}

function BarCell({ bar, isFocused }: { readonly bar: Bar; readonly isFocused: boolean }): JSX.Element {
  const { span, row, left, width, label, side, waits, marks } = bar;
  const state = stateOf(span);
  // Beyond the edges of the window there is nothing to see.
  const start = Math.max(left, -8);
  const cut = start - left;
  const isPicked = span.line === picked.value;
  return (
    <div
      role="gridcell"
      class={`bar state-${state}${side === "in" ? "" : ` ${side}`}`}
      tabIndex={isFocused ? 0 : -1}
      aria-selected={isPicked}
      aria-label={nameOf(span)}
      title={nameOf(span)}
      style={{ left: `${start}px`, width: `${Math.min(width - cut, 20_000)}px`, top: `${row * ROW + 4}px` }}
      onClick={() => pick(span.line)}
    >
      {waits.map((wait) => (
        <i class="wait" key={wait.left} style={{ left: `${wait.left - cut}px`, width: `${wait.width}px` }} />
      ))}
      {marks.map((mark) => (
        <i class={`mark mark-${mark.kind}`} key={`${mark.kind}${mark.left}`} style={{ left: `${mark.left - cut}px` }} />
      ))}
      {label !== "" && <span class="bar-label">{label}</span>}
    </div>
  );
}

/** Tells what a bar shows. */
function nameOf(span: Span): string {
  const rounds = span.rounds.length > 1 ? [`${span.rounds.length} rounds`] : [];
  const label = span.lane === "stderr" ? `stderr ${labelOf(span)}` : labelOf(span);
  return [label, STATES[stateOf(span)], durationText(span.to - span.from), ...rounds].join(", ");
}

function DensityCanvas({ of, height }: { readonly of: Density; readonly height: number }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = of.all.length;
  useEffect(() => {
    const element = canvas.current as HTMLCanvasElement;
    const context = element.getContext("2d");
    if (context === null) return;
    element.width = width * devicePixelRatio;
    element.height = height * devicePixelRatio;
    context.scale(devicePixelRatio, devicePixelRatio);
    const most = of.all.reduce((a, b) => Math.max(a, b), 1);
    const { color, accentColor } = getComputedStyle(element);
    for (const [counts, fill] of [
      [of.all, color],
      [of.failed, accentColor],
    ] as const) {
      context.fillStyle = fill;
      for (const [x, count] of counts.entries()) {
        // The square root keeps a few calls visible beside many.
        const tall = count === 0 ? 0 : Math.max(2, Math.sqrt(count / most) * (height - 8));
        context.fillRect(x, height - 3 - tall, 1, tall);
      }
    }
  }, [of, height, width, scheme.value]);
  return (
    <canvas class="density" ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} aria-hidden="true" />
  );
}

function turn(event: WheelEvent, element: HTMLElement, width: number): void {
  const end = run.value?.end ?? 0;
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault();
    const track = element.querySelector(".track")?.getBoundingClientRect();
    const now = visibleView.value;
    const at = now.from + ((event.clientX - (track?.left ?? 0)) / width) * (now.to - now.from);
    view.value = zoomed(now, at, event.deltaY > 0 ? 1.2 : 0.83, end * 1.03);
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    view.value = moved(visibleView.value, (event.deltaX || event.deltaY) / width, end * 1.03);
  }
}

/** Zooms around the picked call, or the middle. */
export function zoomBy(factor: number): void {
  const now = visibleView.value;
  const span = run.value?.spanAt(picked.value);
  const isSeen = span !== undefined && span.from >= now.from && span.from <= now.to;
  view.value = zoomed(now, isSeen ? span.from : (now.from + now.to) / 2, factor, (run.value?.end ?? 0) * 1.03);
}

/** Picks a span, and moves the timeline so that it is seen. */
export function pickSeen(span: Span | undefined): void {
  if (span === undefined) return;
  pick(span.line);
  if (view.value !== undefined) view.value = revealing(view.value, span, (run.value?.end ?? 0) * 1.03);
}

function move(event: TargetedKeyboardEvent<HTMLDivElement>, lanes: readonly Lane[]): void {
  const all = spans.value;
  const at = all.findIndex(({ line }) => line === picked.value);
  const next = targetOf(event.key, all, at, lanes);
  if (event.key === "Enter") {
    if (at === -1) pickSeen(lanes.find(({ bars }) => bars.length > 0)?.bars[0]?.span);
    tab.value = "frames";
    document.getElementById("detail")?.focus();
    event.preventDefault();
  }
  if (next === undefined) return;
  event.preventDefault();
  pickSeen(next);
}

function targetOf(key: string, all: readonly Span[], at: number, lanes: readonly Lane[]): Span | undefined {
  const current = all[at];
  switch (key) {
    case "ArrowRight":
      return all[at === -1 ? 0 : at + 1];
    case "ArrowLeft":
      return all[at === -1 ? 0 : at - 1];
    case "Home":
      return all[0];
    case "End":
      return all.at(-1);
    case "ArrowDown":
    case "ArrowUp": {
      if (current === undefined) return all[0];
      const order = Object.keys(LANES);
      const filled = lanes.filter(({ bars }) => bars.length > 0);
      const own = filled.findIndex(
        (lane) => lane.lane === current.lane && (lane.c === undefined || lane.c === current.c),
      );
      const next = filled[own + (key === "ArrowDown" ? 1 : -1)];
      if (next === undefined || order.length === 0) return undefined;
      return next.bars
        .map(({ span }) => span)
        .reduce((a, b) => (Math.abs(b.from - current.from) < Math.abs(a.from - current.from) ? b : a));
    }
    default:
      return undefined;
  }
}

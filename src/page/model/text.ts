import type { Span, SpanLane, SpanState } from "../../recording/spans.js";

/** Writes a duration, or a moment since the beginning, with three digits: `950 µs`, `7.2 ms`, `174 ms`, `1.46 s`. */
export function durationText(us: number): string {
  const [value, unit] = us < 1000 ? [us, "µs"] : us < 1e6 ? [us / 1000, "ms"] : [us / 1e6, "s"];
  return `${unit === "µs" || value >= 100 ? Math.round(value) : value.toPrecision(value < 10 && unit === "ms" ? 2 : 3)} ${unit}`;
}

/** Writes a number of characters as a size: `633 B`, `2.4 kB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Writes a number of things: `1 call`, `8 calls`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

const VERBS: Readonly<Record<string, string>> = {
  "tools/call": "call",
  "resources/read": "read",
  "prompts/get": "prompt",
};

/** Names a span as a person would: `call moor`, `read berth://n1`, `tools/list`. */
export function labelOf({ method = "", name, lane }: Pick<Span, "method" | "name" | "lane">): string {
  if (lane === "stderr") return firstLine(method);
  if (lane === "auth") return `${method} ${hostOf(name ?? "")}`.trim();
  return name === undefined ? method : `${VERBS[method] ?? method} ${name}`;
}

/** Returns the first line of a text that has something on it, cut where it is long. */
export function firstLine(text: string, max = 200): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > max ? `${line.slice(0, max)}…` : line;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

/** Words for the rows of the timeline, in their order. */
export const LANES: Readonly<Record<SpanLane, string>> = {
  session: "session",
  calls: "calls",
  tasks: "tasks",
  watch: "subscriptions",
  auth: "authorization",
  stderr: "stderr",
};

/** Words for how a call ended. `asked` waits for the user. */
export const STATES: Readonly<Record<SpanState | "asked", string>> = {
  ok: "ok",
  error: "failed",
  cancelled: "cancelled",
  lost: "answer lost",
  open: "in progress",
  asked: "waits for you",
};

import { computed, signal } from "@preact/signals";
import type { Span } from "../recording/spans.js";
import { catalogueOf } from "./model/catalogue.js";
import { compareRuns } from "./model/compare.js";
import { filtered, type Run } from "./model/run.js";
import { skillsOf } from "./model/skills.js";
import { tasksOf } from "./model/tasks.js";
import { type View, wholeOf } from "./model/timeline.js";

/** Parts of the page below the timeline. */
export const PANELS = ["calls", "catalogue", "tasks", "skills", "login", "doctor", "faults", "compare"] as const;
export type Panel = (typeof PANELS)[number];

/** Parts of the detail of a call. */
export const TABS = ["frames", "result", "form", "compare"] as const;
export type Tab = (typeof TABS)[number];

/** Runs that the page has: the live one first, then opened files. */
export const runs = signal<readonly Run[]>([]);
export const shown = signal(0);
/** Line of the picked span. */
export const picked = signal<number | undefined>(undefined);
/** What the timeline shows. Undefined is the whole run, however it grows. */
export const view = signal<View | undefined>(undefined);
export const filter = signal("");
export const panel = signal<Panel>("calls");
export const tab = signal<Tab>("frames");
export const scheme = signal<"light" | "dark" | undefined>(undefined);
export const isHelpOpen = signal(false);
/** Name of the picked item of the catalogue, with its kind. */
export const pickedItem = signal<string | undefined>(undefined);
/** Run that the user chose to compare with. */
export const chosenOther = signal<number | undefined>(undefined);
/** What the live region says. */
export const announcement = signal("");
/** What could not be done. */
export const failure = signal<string | undefined>(undefined);

export const run = computed<Run | undefined>(() => runs.value[shown.value]);
export const spans = computed<readonly Span[]>(() => filtered(run.value?.spans ?? [], filter.value));
export const span = computed<Span | undefined>(() => run.value?.spanAt(picked.value));
export const visibleView = computed<View>(() => view.value ?? wholeOf(run.value?.spans ?? [], run.value?.end ?? 0));
export const catalogue = computed(() => (run.value === undefined ? [] : catalogueOf(run.value)));
export const skills = computed(() => (run.value === undefined ? [] : skillsOf(run.value)));
export const tasks = computed(() => (run.value === undefined ? [] : tasksOf(run.value)));
/** Run that the shown one is compared with: the chosen one, or the only other one. */
export const other = computed<number | undefined>(() => {
  const [chosen, own] = [chosenOther.value, shown.value];
  if (chosen !== undefined && chosen !== own) return chosen;
  return runs.value.length === 2 ? 1 - own : undefined;
});
export const openQuestions = computed(() => (run.value?.questions ?? []).filter(({ isOpen }) => isOpen));
export const comparedRuns = computed(() => {
  const [a, b] = [run.value, other.value === undefined ? undefined : runs.value[other.value]];
  return a === undefined || b === undefined ? undefined : { a, b, calls: compareRuns(a, b) };
});

/** Picks a span, and shows it in the detail. */
export function pick(line: number | undefined): void {
  picked.value = line;
}

/** Shows another run from its beginning. */
export function show(index: number): void {
  shown.value = index;
  picked.value = undefined;
  view.value = undefined;
}

/** Adds a run that was opened from a file, and shows it. */
export function addRun(added: Run): void {
  runs.value = [...runs.value, added];
  show(runs.value.length - 1);
}

/** Says something to users who cannot see it. */
export function announce(text: string): void {
  announcement.value = text;
}

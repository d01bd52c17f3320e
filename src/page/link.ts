import { signal } from "@preact/signals";
import type {
  InspectorState,
  PageEvents,
  RunEnd,
  Verb,
  VerbName,
  VerbResponse,
  VerbResults,
  Verbs,
} from "../inspect/protocol.js";
import type { RecordingHeader } from "../recording/events.js";
import type { NumberedEvent } from "../recording/reader.js";
import { eventProblem, isKnownKind } from "../recording/shapes.js";
import { openFrom } from "./files.js";
import { Run } from "./model/run.js";
import { announce, failure, runs } from "./state.js";

/** State of the inspector. Undefined while there is none: the page shows files alone. */
export const inspector = signal<InspectorState | undefined>(undefined);
/** True while events arrive, or may arrive. */
export const isLinked = signal(true);
/** Ends of runs, by number. */
export const ends = signal<ReadonlyMap<number, RunEnd>>(new Map());

/** Ends of runs that are kept. */
const MAX_ENDS = 500;
/** Shortest time between two drawings of the live run, in milliseconds. */
const DRAW_MS = 60;

/** Enters with a token, if there is one, and follows the events of the inspector. */
export async function openLink(token: string | undefined): Promise<void> {
  if (token !== undefined) {
    const headers = { "content-type": "application/json" };
    const response = await fetch("./enter", { method: "POST", headers, body: JSON.stringify({ token }) });
    if (!response.ok) throw new Error(await refusalOf(response));
  }
  const live = new LiveRun();
  const events = new EventSource("./events");
  events.onopen = () => (isLinked.value = true);
  events.onerror = () => {
    if (isLinked.value) announce("The inspector does not answer.");
    isLinked.value = false;
  };
  events.onmessage = ({ data, lastEventId }) => live.take(data, Number(lastEventId));
  events.addEventListener("state", ({ data }) => {
    inspector.value = JSON.parse(data) as PageEvents["state"];
    void openRecordings(inspector.value);
    void listNew(inspector.value);
  });
  events.addEventListener("run", ({ data }) => {
    const end = JSON.parse(data) as PageEvents["run"];
    const all = [...ends.value, [end.run, end] as const];
    ends.value = new Map(all.slice(-MAX_ENDS));
    const what = `${end.verb} ${end.name ?? ""}`.trim();
    announce(end.error === undefined ? `${what} has ended.` : `${what} has failed: ${end.error.message}`);
  });
}

let opened = 0;

/** Opens the recordings that the inspector has read, behind the live run. */
async function openRecordings({ recordings, mode }: InspectorState): Promise<void> {
  // Without a live run, the first recording is what is shown.
  if (runs.value.length === 0 && mode !== "files") runs.value = [new Run("live", undefined, [])];
  while (opened < recordings.length) {
    const index = opened++;
    await openFrom(`./recordings/${index}`, recordings[index]?.name ?? `recording ${index + 1}`);
  }
}

const listed = new Set<number>();

/** Lists what the servers of new connections offer, so that there is a catalogue. The client's cache answers a page that was reloaded. */
async function listNew({ connections, verbs }: InspectorState): Promise<void> {
  if (!verbs.includes("list")) return;
  for (const { connection, status, capabilities = {} } of connections) {
    if (status !== "open" || listed.has(connection)) continue;
    listed.add(connection);
    const { tools, prompts, resources } = capabilities;
    if (tools !== undefined) await send("list", { connection, what: "tools" });
    if (resources !== undefined) await send("list", { connection, what: "resources" });
    if (resources !== undefined) await send("list", { connection, what: "templates" });
    if (prompts !== undefined) await send("list", { connection, what: "prompts" });
  }
}

async function refusalOf(response: Response): Promise<string> {
  const text = await response.text();
  return text === ""
    ? `The inspector refused the token: status ${response.status}. Open the address that it printed.`
    : text;
}

/** Lines of the live recording. Drawn together, and the less often the longer it takes. */
class LiveRun {
  #header: RecordingHeader | undefined;
  readonly #events: NumberedEvent[] = [];
  #last = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #costMs = 0;

  take(data: string, line: number): void {
    if (line <= this.#last) return;
    this.#last = line;
    const value: unknown = JSON.parse(data);
    if (line === 1) this.#header = value as RecordingHeader;
    else if (eventProblem(value) === undefined && isKnownKind((value as NumberedEvent).k)) {
      const event = Object.assign(value as NumberedEvent, { line });
      this.#events.push(event);
      if (event.k === "ask") announce("The server asks a question.");
    }
    this.#timer ??= setTimeout(() => this.#draw(), Math.max(DRAW_MS, this.#costMs * 5));
  }

  #draw(): void {
    this.#timer = undefined;
    const begun = performance.now();
    const name = inspector.value?.servers[0]?.label ?? "live";
    runs.value = [new Run(name, this.#header, [...this.#events]), ...runs.value.slice(1)];
    this.#costMs = performance.now() - begun;
  }
}

/** Asks the inspector to do something. A failure is shown, and the promise is fulfilled with undefined. */
export async function send<Name extends VerbName>(
  name: Name,
  members: Verbs[Name],
): Promise<VerbResults[Name] | undefined> {
  const verb = { do: name, ...members } as unknown as Verb;
  try {
    const headers = { "content-type": "application/json" };
    const response = await fetch("./do", { method: "POST", headers, body: JSON.stringify(verb) });
    const told = (await response.json()) as VerbResponse<Name>;
    if (told.ok) return told.result;
    failure.value = `${name}: ${told.error.message}`;
  } catch {
    failure.value = `${name}: the inspector does not answer. Is its process still running?`;
  }
  return undefined;
}

/** True if a verb works here. */
export function can(name: VerbName): boolean {
  return isLinked.value && (inspector.value?.verbs.includes(name) ?? false);
}

/** Returns the connection that a verb names, for a connection of the recording, or else the first that is open. */
export function connectionOf(c: number | undefined): number | undefined {
  const all = inspector.value?.connections ?? [];
  const open = all.filter(({ status }) => status === "open");
  return (open.find((each) => each.c === c) ?? open[0])?.connection;
}

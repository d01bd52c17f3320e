import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { VerdictEvent } from "../../recording/events.js";
import type { NumberedEvent } from "../../recording/reader.js";
import { can, connectionOf, inspector, send } from "../link.js";
import type { Item, ItemKind } from "../model/catalogue.js";
import { stateOf } from "../model/run.js";
import { countText, durationText, labelOf, STATES, sizeText } from "../model/text.js";
import {
  catalogue,
  type Panel,
  panel,
  pick,
  picked,
  pickedItem,
  run,
  shown,
  skills,
  spans,
  tab,
  tasks,
} from "../state.js";
import { Badge } from "./badge.js";
import { ItemForm } from "./call-form.js";
import { ComparePanel } from "./compare.js";
import { FaultsPanel } from "./faults.js";
import { Icon } from "./icon.js";
import { Json, LongText } from "./json.js";
import { LoginPanel } from "./login.js";
import { SkillsPanel } from "./skills.js";
import { pickSeen } from "./timeline.js";
import { Windowed } from "./windowed.js";

const TITLES: Readonly<Record<Panel, string>> = {
  calls: "Events",
  catalogue: "Catalogue",
  tasks: "Tasks",
  skills: "Skills",
  login: "Login",
  doctor: "Findings",
  faults: "Faults",
  compare: "Compare",
};

/** Which part of the run is listed, and how much each has. */
export function Rail(): JSX.Element {
  const now = run.value;
  const items = catalogue.value;
  const counts: Readonly<Partial<Record<Panel, number | undefined>>> = {
    calls: spans.value.length,
    catalogue: items.length,
    tasks: tasks.value.length,
    skills: skills.value.length,
    login: now?.events.filter(({ k }) => k === "auth").length,
    doctor: now?.events.filter(({ k }) => k === "verdict").length,
    faults: now?.events.filter(({ k }) => k === "fault").length,
  };
  return (
    <nav class="rail" aria-label="Parts of the run">
      {(Object.keys(TITLES) as Panel[]).map((name) => (
        <button
          type="button"
          key={name}
          aria-current={panel.value === name ? "page" : undefined}
          onClick={() => (panel.value = name)}
        >
          <span>{TITLES[name]}</span>
          {counts[name] ? (
            <span class="count">{counts[name].toLocaleString("en", { notation: "compact" })}</span>
          ) : null}
        </button>
      ))}
    </nav>
  );
}

export function PanelBody(): JSX.Element {
  const parts: Readonly<Record<Panel, () => JSX.Element>> = {
    calls: CallsPanel,
    catalogue: CataloguePanel,
    tasks: TasksPanel,
    skills: SkillsPanel,
    login: LoginPanel,
    doctor: DoctorPanel,
    faults: FaultsPanel,
    compare: ComparePanel,
  };
  const Part = parts[panel.value];
  return (
    <section class="panel" aria-label={TITLES[panel.value]}>
      <Part key={panel.value} />
    </section>
  );
}

function CallsPanel(): JSX.Element {
  const all = spans.value;
  if (all.length === 0)
    return <p class="hint">{run.value?.spans.length ? "No call has the words of the filter." : "No calls yet."}</p>;
  return (
    <Windowed
      label="Events"
      items={all}
      rowHeight={26}
      keyOf={({ line }) => line}
      isPicked={({ line }) => line === picked.value}
      onPick={pickSeen}
      onOpen={() => document.getElementById("detail")?.focus()}
    >
      {(span) => (
        <>
          <span class="row-time">{durationText(span.from)}</span>
          <Badge span={span} isShort />
          <span class="row-name" title={labelOf(span)}>
            {labelOf(span)}
          </span>
          <span class="row-note">
            {stateOf(span) === "open" || span.to === span.from ? "" : durationText(span.to - span.from)}
          </span>
        </>
      )}
    </Windowed>
  );
}

const KINDS: Readonly<Record<ItemKind, string>> = {
  tool: "Tools",
  prompt: "Prompts",
  resource: "Resources",
  template: "Templates",
};
const keyOf = ({ kind, name }: Item) => `${kind} ${name}`;

function CataloguePanel(): JSX.Element {
  const items = catalogue.value;
  const tokens = items.reduce((sum, item) => sum + (item.tokens ?? 0), 0);
  const most = Math.max(1, ...items.map((item) => item.tokens ?? 0));
  const counts = (Object.keys(KINDS) as ItemKind[])
    .map((kind) => [KINDS[kind], items.filter((item) => item.kind === kind).length] as const)
    .filter(([, count]) => count > 0);
  return (
    <div class="panel-body">
      <div class="panel-head">
        <span class="facts">
          {[
            ...counts.map(([title, count]) => `${title} ${count}`),
            ...(tokens > 0 ? [`about ${tokens.toLocaleString("en")} tokens`] : []),
          ].join("  ·  ")}
        </span>
        <ListButton />
      </div>
      {items.length === 0 ? (
        <p class="hint">The server has listed nothing in this run.</p>
      ) : (
        <Windowed
          label="Catalogue"
          items={items}
          rowHeight={26}
          keyOf={keyOf}
          isPicked={(item) => keyOf(item) === pickedItem.value}
          onPick={(item) => {
            pickedItem.value = keyOf(item);
            pick(undefined);
          }}
          onOpen={() => document.getElementById("detail")?.focus()}
        >
          {(item) => (
            <>
              <span class={`kind kind-of-${item.kind}`}>{item.kind}</span>
              <span class="row-name" title={item.description ?? item.name}>
                {item.name}
              </span>
              <Verdicts of={item.verdicts} />
              <span class="tokens" title={item.tokens === undefined ? undefined : `about ${item.tokens} tokens`}>
                {item.tokens !== undefined && (
                  <>
                    <i style={{ width: `${Math.round((item.tokens / most) * 40)}px` }} />
                    {item.tokens}
                  </>
                )}
              </span>
            </>
          )}
        </Windowed>
      )}
    </div>
  );
}

function ListButton(): JSX.Element | null {
  const connection = connectionOf(undefined);
  if (!can("list") || connection === undefined || shown.value !== 0) return null;
  const list = async () => {
    for (const what of ["tools", "prompts", "resources", "templates"] as const)
      await send("list", { connection, what, fresh: true });
  };
  return (
    <button type="button" class="quiet" onClick={() => void list()}>
      List again
    </button>
  );
}

/** Findings about an item: the worst one as a mark, and how many there are. */
function Verdicts({ of }: { readonly of: readonly VerdictEvent[] }): JSX.Element | null {
  if (of.length === 0) return null;
  const level =
    (["error", "warning", "note"] as const).find((each) => of.some((verdict) => verdict.level === each)) ?? "note";
  return (
    <span class={`level level-${level}`} title={of.map(({ text }) => text).join("\n")}>
      <Icon name={level} />
      {of.length}
      <span class="hidden">{countText(of.length, "finding")}</span>
    </span>
  );
}

/** Entry of the catalogue: what it is, its form, and what was found about it. */
export function ItemDetail({ item }: { readonly item: Item }): JSX.Element {
  return (
    <section class="detail" id="detail" aria-label="Detail" tabIndex={-1}>
      <header class="detail-head">
        <h2 title={item.name}>{item.name}</h2>
        <span class="facts">
          {[item.kind, item.tokens === undefined ? undefined : `about ${item.tokens} tokens`]
            .filter(Boolean)
            .join("  ·  ")}
        </span>
      </header>
      <section class="detail-part" tabIndex={0} aria-label="Entry of the catalogue">
        {item.description && (
          <p class="description">
            <LongText text={item.description} />
          </p>
        )}
        {item.verdicts.map((verdict) => (
          <Verdict key={`${verdict.rule} ${verdict.text}`} verdict={verdict} />
        ))}
        {item.kind === "resource" && <Watch uri={item.name} />}
        {can("call") && shown.value === 0 && <ItemForm key={keyOf(item)} item={item} c={undefined} />}
        <h3>As the server lists it</h3>
        <Json value={item.listed} />
      </section>
    </section>
  );
}

/** Subscribes to a resource, and ends that. Its changes are marks of the subscription. */
function Watch({ uri }: { readonly uri: string }): JSX.Element | null {
  const connection = connectionOf(undefined);
  if (!can("watch") || connection === undefined || shown.value !== 0) return null;
  const open = inspector.value?.runs.find(({ verb, name }) => verb === "watch" && name === uri);
  return (
    <p class="card-actions">
      {open === undefined ? (
        <button type="button" onClick={() => void send("watch", { connection, resources: [uri] })}>
          Watch changes
        </button>
      ) : (
        <button type="button" onClick={() => void send("unwatch", { run: open.run })}>
          Stop watching
        </button>
      )}
    </p>
  );
}

function Verdict({ verdict }: { readonly verdict: VerdictEvent }): JSX.Element {
  const { level, rule, text, remedy, lines = [] } = verdict;
  return (
    <div class={`finding level-${level}`}>
      <Icon name={level} />
      <div>
        <p>
          <span class="hidden">{level}: </span>
          {text}
        </p>
        {remedy !== undefined && <p>{remedy}</p>}
        <p class="muted">
          <code>{rule}</code>
          {lines.map((line) => (
            <button type="button" class="quiet" key={line} onClick={() => pickLine(line)}>{`line ${line}`}</button>
          ))}
        </p>
      </div>
    </div>
  );
}

/** Picks the call to which a line of the recording belongs. */
function pickLine(line: number): void {
  pickSeen(run.value?.spans.find((span) => span.lines.includes(line)));
  tab.value = "frames";
}

function DoctorPanel(): JSX.Element {
  const levels = ["error", "warning", "note"];
  const found = (run.value?.events ?? [])
    .filter((event): event is VerdictEvent & NumberedEvent => event.k === "verdict")
    .toSorted((a, b) => levels.indexOf(a.level) - levels.indexOf(b.level));
  return (
    <div class="panel-body">
      <div class="panel-head">
        <span class="facts">{found.length === 0 ? "No findings" : countText(found.length, "finding")}</span>
        {can("doctor") && shown.value === 0 && (
          <button type="button" onClick={() => void send("doctor", {})}>
            <Icon name="play" /> Examine the server
          </button>
        )}
      </div>
      <section class="scroll" tabIndex={0} aria-label="Findings about the server">
        {found.length === 0 && (
          <p class="hint">Findings of the doctor appear here, each with the lines that prove it.</p>
        )}
        {found.map((verdict) => (
          <Verdict key={verdict.line} verdict={verdict} />
        ))}
      </section>
    </div>
  );
}

function TasksPanel(): JSX.Element {
  const id = useSignal("");
  const connection = connectionOf(undefined);
  const canAct = can("task") && connection !== undefined && shown.value === 0;
  return (
    <div class="panel-body">
      {canAct && (
        <form
          class="panel-head"
          onSubmit={(event) => {
            event.preventDefault();
            if (id.value !== "") void send("task", { connection, id: id.value, act: "get" });
          }}
        >
          <label>
            <span>Task</span>
            <input value={id.value} onInput={(event) => (id.value = event.currentTarget.value)} placeholder="id" />
          </label>
          <button type="submit">Take up</button>
        </form>
      )}
      <section class="scroll" tabIndex={0} aria-label="Tasks of the server">
        {tasks.value.length === 0 && <p class="hint">No message in this run is about a task.</p>}
        {tasks.value.map((task) => (
          <article class="card" key={task.id}>
            <p>
              <strong>{task.tool ?? "task"}</strong> <code>{task.id}</code>
            </p>
            <p>
              <span
                class={`badge state-${task.status === "completed" ? "ok" : task.status === "failed" ? "error" : task.status === "input_required" ? "asked" : task.isEnded ? "cancelled" : "open"}`}
              >
                {task.status.replaceAll("_", " ")}
              </span>{" "}
              <span class="facts">{durationText(task.to - task.from)}</span>
            </p>
            {task.message !== undefined && <p class="muted">{task.message}</p>}
            <p class="card-actions">
              <button type="button" class="quiet" onClick={() => pickLine(task.line)}>{`line ${task.line}`}</button>
              {canAct && !task.isEnded && (
                <>
                  <button type="button" onClick={() => void send("task", { connection, id: task.id, act: "get" })}>
                    State
                  </button>
                  <button type="button" onClick={() => void send("task", { connection, id: task.id, act: "cancel" })}>
                    Cancel
                  </button>
                </>
              )}
              {canAct && task.isEnded && (
                <button type="button" onClick={() => void send("task", { connection, id: task.id, act: "result" })}>
                  Result
                </button>
              )}
            </p>
          </article>
        ))}
      </section>
    </div>
  );
}

/** Sizes and counts of a run in a line. */
export function runFacts(): string {
  const now = run.value;
  if (now === undefined) return "";
  const calls = now.spans.filter(({ lane }) => lane === "calls" || lane === "tasks").length;
  const bytes = now.spans.reduce((sum, { size }) => sum + size, 0);
  const failed = now.spans.filter(({ state }) => state === "error" || state === "lost").length;
  const parts = [countText(calls, "call"), sizeText(bytes), durationText(now.end)];
  return [
    ...parts,
    ...(failed > 0 ? [`${failed} ${STATES.error}`] : []),
    ...(inspector.value?.isRecording ? ["recording"] : []),
  ].join("  ·  ");
}

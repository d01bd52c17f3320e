import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { openFiles, saveFile, textOf } from "../files.js";
import { can, inspector, isLinked, send } from "../link.js";
import { filter, isHelpOpen, openQuestions, pick, run, runs, scheme, show, shown, tab } from "../state.js";
import { Icon } from "./icon.js";
import { runFacts } from "./panels.js";

/** Versions of the protocol that are named. An examination tries many. */
const MAX_VERSIONS = 2;

/** Which server this is, and what can be done with the run as a whole. */
export function Top(): JSX.Element {
  const chooser = useRef<HTMLInputElement>(null);
  const now = run.value;
  const connection = now?.connections.find(({ server }) => server !== undefined) ?? now?.connections[0];
  const all = [...new Set(now?.connections.map(({ version }) => version).filter((each) => each !== undefined))];
  const versions =
    all.length > MAX_VERSIONS ? [...all.slice(0, MAX_VERSIONS), `${all.length - MAX_VERSIONS} more`] : all;
  const wires = [...new Set(now?.connections.map(({ open }) => open.wire))];
  const isTop = inspector.value?.mode === "tap";
  return (
    <header class="top">
      <h1>{connection?.server ?? now?.name ?? "Inspector"}</h1>
      {connection?.serverVersion !== undefined && <span class="muted">{connection.serverVersion}</span>}
      {[...versions, ...wires, ...(isTop ? ["tap"] : [])].map((text) => (
        <span class="chip" key={text}>
          {text}
        </span>
      ))}
      <span class="facts run-facts">{runFacts()}</span>
      {!isLinked.value && <span class="level level-error">no connection to the inspector</span>}
      {openQuestions.value.length > 0 && (
        <button type="button" class="asks" onClick={pickQuestion}>
          <Icon name="asked" />{" "}
          {openQuestions.value.length === 1 ? "1 question" : `${openQuestions.value.length} questions`}
        </button>
      )}
      <div class="top-actions">
        {runs.value.length > 1 && (
          <select
            aria-label="Recording"
            value={String(shown.value)}
            onChange={(event) => show(Number(event.currentTarget.value))}
          >
            {runs.value.map((each, index) => (
              <option key={`${index} ${each.name}`} value={String(index)}>
                {each.name}
              </option>
            ))}
          </select>
        )}
        <label class="find">
          <span class="hidden">Filter</span>
          <input
            id="filter"
            type="search"
            placeholder="Filter   /"
            value={filter.value}
            onInput={(event) => (filter.value = event.currentTarget.value)}
            spellcheck={false}
            autocomplete="off"
          />
        </label>
        <input
          ref={chooser}
          type="file"
          accept=".ndjson,application/x-ndjson"
          multiple
          hidden
          onChange={(event) => {
            void openFiles(event.currentTarget.files ?? []);
            event.currentTarget.value = "";
          }}
        />
        <button type="button" onClick={() => chooser.current?.click()}>
          <Icon name="openFile" /> Open
        </button>
        <SaveMenu />
        <button
          type="button"
          class="icon-button"
          aria-label={isDark() ? "Use light colours" : "Use dark colours"}
          title={isDark() ? "Use light colours" : "Use dark colours"}
          onClick={() => (scheme.value = isDark() ? "light" : "dark")}
        >
          <Icon name={isDark() ? "sun" : "moon"} />
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label="Keys"
          title="Keys (?)"
          onClick={() => (isHelpOpen.value = true)}
        >
          <Icon name="help" />
        </button>
      </div>
    </header>
  );
}

function isDark(): boolean {
  return (scheme.value ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}

function pickQuestion(): void {
  const question = openQuestions.value[0];
  const found = question === undefined ? undefined : run.value?.spanOf(question);
  if (found === undefined) return;
  show(shown.value);
  pick(found.line);
  tab.value = "frames";
  document.getElementById("detail")?.focus();
}

function SaveMenu(): JSX.Element | null {
  const now = run.value;
  if (now === undefined) return null;
  const save = async (as: "recording" | "html") => {
    // The page as a file has all recordings.
    if ((shown.value === 0 || as === "html") && can("save")) {
      const file = await send("save", { as });
      if (file !== undefined) saveFile(file.name, file.type, file.text);
      return;
    }
    const name = /\.ndjson$/.test(now.name) ? now.name : `${now.name.replaceAll(/[^\w.-]+/g, "-")}.rec.ndjson`;
    saveFile(name, "application/x-ndjson", textOf(now));
  };
  return (
    <>
      <button type="button" onClick={() => void save("recording")} disabled={now.events.length === 0}>
        <Icon name="save" /> Save
      </button>
      {can("save") && (
        <button
          type="button"
          onClick={() => void save("html")}
          disabled={now.events.length === 0}
          title="One page that opens without a server"
        >
          HTML
        </button>
      )}
    </>
  );
}

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { openFiles } from "../files.js";
import {
  announcement,
  catalogue,
  failure,
  filter,
  isHelpOpen,
  panel,
  picked,
  pickedItem,
  span,
  tab,
  view,
} from "../state.js";
import { Connections } from "./connections.js";
import { Detail } from "./detail.js";
import { Icon } from "./icon.js";
import { Keys, type KeyTable } from "./keys.js";
import { ItemDetail, PanelBody, Rail } from "./panels.js";
import { Timeline, zoomBy } from "./timeline.js";
import { Top } from "./top.js";

/** The page: the run on an axis of time, its parts, and the picked one. */
export function App(): JSX.Element {
  useEffect(() => {
    addEventListener("keydown", onKey);
    const allow = (event: DragEvent) => event.preventDefault();
    const drop = (event: DragEvent) => {
      event.preventDefault();
      void openFiles(event.dataTransfer?.files ?? []);
    };
    addEventListener("dragover", allow);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("keydown", onKey);
      removeEventListener("dragover", allow);
      removeEventListener("drop", drop);
    };
  }, []);
  const item =
    panel.value === "catalogue" && span.value === undefined
      ? catalogue.value.find(({ kind, name }) => `${kind} ${name}` === pickedItem.value)
      : undefined;
  return (
    <>
      <Top />
      {failure.value !== undefined && (
        <div class="failure bar-failure" role="alert">
          <Icon name="error" />
          <p>{failure.value}</p>
          <button type="button" class="quiet" onClick={() => (failure.value = undefined)}>
            close
          </button>
        </div>
      )}
      <Connections />
      <main>
        <Timeline />
        <div class="below">
          <Rail />
          <PanelBody />
          {item === undefined ? <Detail /> : <ItemDetail item={item} />}
        </div>
      </main>
      <Help />
      <div class="hidden" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </>
  );
}

const KEYS: KeyTable = [
  ["← →", "previous and next call"],
  ["↑ ↓", "another lane, or another row of a list"],
  ["Home End", "first and last call"],
  ["Enter", "detail of the call"],
  ["+  −", "zoom in and out; with the wheel: Ctrl"],
  ["0", "show the whole run"],
  ["/", "filter"],
  ["c", "both sides: the same call of the other connection or recording"],
  ["r", "arguments of the call, to repeat it"],
  ["Esc", "back: out of a field, out of the detail, out of the selection"],
  ["?", "these keys"],
];

function Help(): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = box.current as HTMLDialogElement;
    if (isHelpOpen.value && !element.open) element.showModal();
    else if (!isHelpOpen.value && element.open) element.close();
  }, [isHelpOpen.value]);
  return (
    <dialog class="help" ref={box} aria-labelledby="help-title" onClose={() => (isHelpOpen.value = false)}>
      <h2 id="help-title">Keys</h2>
      <Keys of={KEYS} />
      <button type="button" onClick={() => (isHelpOpen.value = false)}>
        Close
      </button>
    </dialog>
  );
}

/** Keys that work everywhere but in a field. */
function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  const isField = /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
  if (event.key === "Escape") return leave(target, isField);
  if (isField || event.ctrlKey || event.metaKey || event.altKey || isHelpOpen.value) return;
  const actions: Readonly<Record<string, () => void>> = {
    "/": () => document.getElementById("filter")?.focus(),
    "?": () => (isHelpOpen.value = true),
    "+": () => zoomBy(0.6),
    "=": () => zoomBy(0.6),
    "-": () => zoomBy(1.6),
    0: () => (view.value = undefined),
    c: () => (tab.value = "compare"),
    r: () => (tab.value = "form"),
  };
  const act = actions[event.key];
  if (act !== undefined) {
    event.preventDefault();
    act();
  } else if (/^Arrow(?:Left|Right|Up|Down)$/.test(event.key) && target === document.body) {
    event.preventDefault();
    focusTimeline();
  }
}

/** Focuses the bar that arrow keys start from, or the timeline where it draws none. */
function focusTimeline(): void {
  document.querySelector<HTMLElement>("[role=gridcell][tabindex='0'], .lanes[tabindex='0']")?.focus();
}

/** Goes one step back. */
function leave(target: HTMLElement, isField: boolean): void {
  if (isHelpOpen.value) return;
  if (target.id === "filter" && filter.value !== "") filter.value = "";
  else if (isField) target.blur();
  else if (target.closest("#detail") !== null) focusTimeline();
  else picked.value = undefined;
}

import type { JSX } from "preact";
import type { Span } from "../../recording/spans.js";
import { can, inspector, send } from "../link.js";
import type { Run } from "../model/run.js";
import { shown, tab } from "../state.js";
import { Icon } from "./icon.js";

/** Buttons of a call: cancel it while it runs, repeat it when it has ended. Only a live run has them. */
export function RunActions({ run, span }: { readonly run: Run; readonly span: Span }): JSX.Element | null {
  const open = openRunOf(run, span);
  if (shown.value !== 0) return null;
  if (open !== undefined && can("cancel"))
    return (
      <button type="button" onClick={() => void send("cancel", { run: open })}>
        <Icon name="cancelled" /> Cancel
      </button>
    );
  if (!can("call") || span.method !== "tools/call") return null;
  return (
    <button type="button" title="Repeat (r)" onClick={() => (tab.value = "form")}>
      <Icon name="repeat" /> Repeat
    </button>
  );
}

/** Returns the number of the inspector's run that a call in progress belongs to. */
function openRunOf(run: Run, span: Span): number | undefined {
  if (span.state !== "open") return undefined;
  const connection = inspector.value?.connections.find(({ c }) => c === span.c)?.connection;
  const all = (inspector.value?.runs ?? []).filter((each) => each.connection === connection && each.name === span.name);
  return all.find(({ line }) => line < span.line && run.eventAt(span.line) !== undefined)?.run;
}

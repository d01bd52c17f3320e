import type { JSX } from "preact";
import type { Span } from "../../recording/spans.js";
import { stateOf } from "../model/run.js";
import { STATES } from "../model/text.js";
import { Icon } from "./icon.js";

/** State of a call: a mark, a word and a colour. */
export function Badge({ span, isShort = false }: { readonly span: Span; readonly isShort?: boolean }): JSX.Element {
  const state = stateOf(span);
  return (
    <span class={`badge state-${state}${isShort ? " short" : ""}`} title={STATES[state]}>
      <Icon name={state} />
      <span class={isShort ? "hidden" : ""}>{STATES[state]}</span>
    </span>
  );
}

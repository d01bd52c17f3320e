import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Span } from "../../recording/spans.js";
import { copyOf, FORMS, type Form } from "../model/copy.js";
import type { Run } from "../model/run.js";
import { announce } from "../state.js";
import { Icon } from "./icon.js";

/** Copies a call so that it can be repeated elsewhere. */
export function CopyMenu({ run, span }: { readonly run: Run; readonly span: Span }): JSX.Element {
  const text = useSignal<string | undefined>(undefined);
  const box = useRef<HTMLDetailsElement>(null);
  const copy = async (form: Form) => {
    const copied = copyOf(form, run, span) ?? "";
    (box.current as HTMLDetailsElement).open = false;
    box.current?.querySelector("summary")?.focus();
    try {
      await navigator.clipboard.writeText(copied);
      announce(`Copied as ${FORMS[form]}.`);
    } catch {
      // Pages without the right to write get the text to copy by hand.
      text.value = copied;
    }
  };
  useEffect(() => {
    const close = (event: Event) => {
      if (box.current !== null && !box.current.contains(event.target as Node)) box.current.open = false;
    };
    addEventListener("pointerdown", close);
    return () => removeEventListener("pointerdown", close);
  }, []);
  return (
    <>
      <details
        class="menu"
        ref={box}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || !event.currentTarget.open) return;
          event.stopPropagation();
          event.currentTarget.open = false;
          event.currentTarget.querySelector("summary")?.focus();
        }}
      >
        <summary>
          <Icon name="copy" /> Copy as
        </summary>
        <div class="menu-items">
          {(Object.keys(FORMS) as Form[])
            .filter((form) => copyOf(form, run, span) !== undefined)
            .map((form) => (
              <button type="button" key={form} onClick={() => void copy(form)}>
                {FORMS[form]}
              </button>
            ))}
        </div>
      </details>
      {text.value !== undefined && (
        <label class="copy-text">
          <span>Copy this text:</span>
          <textarea class="code" rows={6} readOnly value={text.value} ref={(element) => element?.select()} />
          <button type="button" class="quiet" onClick={() => (text.value = undefined)}>
            close
          </button>
        </label>
      )}
    </>
  );
}

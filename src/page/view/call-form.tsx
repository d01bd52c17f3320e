import { effect, useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { isObject } from "../../protocol/json.js";
import type { JsonObject } from "../../protocol/types/index.js";
import type { Span } from "../../recording/spans.js";
import { can, connectionOf, send } from "../link.js";
import type { Item } from "../model/catalogue.js";
import { type Entered, fieldsOf, hasForm, initialOf, valuesOf } from "../model/form.js";
import { framesOf } from "../model/frames.js";
import type { Run } from "../model/run.js";
import { announce, catalogue, panel, picked, shown, run as shownRun } from "../state.js";
import { Icon } from "./icon.js";
import { Json } from "./json.js";
import { Fields } from "./schema-form.js";

/** Arguments of a call: as they were, or in a form that repeats it. */
export function CallForm({ run, span }: { readonly run: Run; readonly span: Span }): JSX.Element {
  const request = framesOf(run, span).find(({ kind }) => kind === "request");
  const params = isObject(request?.body) ? (request.body as { readonly [key: string]: unknown }) : {};
  const item = catalogue.value.find(({ kind, name }) => KINDS[span.method ?? ""] === kind && name === span.name);
  if (item === undefined || shown.value !== 0 || !can("call"))
    return Object.keys(params).length === 0 ? (
      <p class="hint">The call has no arguments.</p>
    ) : (
      <Json value={params.arguments ?? params} />
    );
  return <ItemForm item={item} c={span.c} given={params.arguments} />;
}

const KINDS: Readonly<Record<string, Item["kind"]>> = {
  "tools/call": "tool",
  "prompts/get": "prompt",
  "resources/read": "resource",
};

interface ItemFormProps {
  readonly item: Item;
  readonly c: number | undefined;
  readonly given?: unknown;
}

/** Form for the arguments of a tool, prompt or resource. */
export function ItemForm({ item, c, given }: ItemFormProps): JSX.Element {
  const { kind, name, schema } = item;
  const isPlain = schema.properties === undefined ? Object.keys(schema).length > 1 : !hasForm(schema);
  const fields = fieldsOf(schema, [], given);
  const entered = useSignal<Entered>(initialOf(fields));
  const isJson = useSignal(isPlain);
  const text = useSignal(JSON.stringify(given ?? {}, null, 2));
  const wasSent = useSignal(false);
  const values = useComputed(() => (isJson.value ? jsonOf(text.value) : valuesOf(fields, entered.value)));
  const problems = wasSent.value ? values.value.problems : new Map<string, string>();
  const call = async (both: boolean) => {
    wasSent.value = true;
    const connection = connectionOf(c);
    if (values.value.problems.size > 0 || connection === undefined) {
      announce("The arguments are not complete.");
      return;
    }
    const args = values.value.value as JsonObject;
    const before = lastSpanOf();
    if (kind === "tool") await send("call", { connection, name, arguments: args, ...(both && { both }) });
    else if (kind === "prompt") await send("prompt", { connection, name, arguments: args as Record<string, string> });
    else await send("read", { connection, uri: expand(name, args) });
    follow(before);
  };
  return (
    <form
      class="call-form"
      onSubmit={(event) => {
        event.preventDefault();
        void call(false);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void call(false);
      }}
    >
      {isJson.value ? (
        <div class="field">
          <label for="arguments">
            <span class="field-name">Arguments</span>
            <span class="muted">JSON</span>
          </label>
          <textarea
            id="arguments"
            class="code"
            rows={8}
            spellcheck={false}
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
          {problems.has("") && <p class="problem">{problems.get("")}</p>}
        </div>
      ) : (
        <Fields fields={fields} entered={entered} problems={problems} prefix={`call-${kind}`} />
      )}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={connectionOf(c) === undefined}>
          <Icon name="play" /> {kind === "tool" ? "Call" : kind === "prompt" ? "Get" : "Read"}
        </button>
        {kind === "tool" && (
          <button
            type="button"
            title="Call in both eras (c)"
            onClick={() => void call(true)}
            disabled={connectionOf(c) === undefined}
          >
            Call in both eras
          </button>
        )}
        <label class="switch">
          <input
            type="checkbox"
            checked={isJson.value}
            onChange={(event) => {
              if (event.currentTarget.checked) text.value = JSON.stringify(values.value.value, null, 2);
              isJson.value = event.currentTarget.checked;
            }}
          />
          as JSON
        </label>
      </div>
      {connectionOf(c) === undefined && <p class="hint">There is no open connection.</p>}
    </form>
  );
}

function jsonOf(text: string): { readonly value: object; readonly problems: ReadonlyMap<string, string> } {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { value, problems: new Map() };
    return { value: {}, problems: new Map([["", "Arguments are an object: { … }"]]) };
  } catch (error) {
    return { value: {}, problems: new Map([["", `This is not JSON: ${(error as Error).message}`]]) };
  }
}

/** Fills the variables of a URI template that are plain. */
function expand(template: string, values: JsonObject): string {
  return template.replaceAll(/\{([+#./;?&]?)([^}]+)\}/g, (_, operator: string, names: string) => {
    const parts = names.split(",").map((name) => String(values[name.replace(/[*]$|:\d+$/, "")] ?? ""));
    return operator === "+" ? parts.join(",") : parts.map(encodeURIComponent).join(",");
  });
}

const lastSpanOf = () => shownRun.peek()?.spans.at(-1)?.line ?? 0;

/** Longest time for which a new call is awaited, so that it is picked when it appears. */
const FOLLOW_MS = 3000;

/** Picks the next call that appears. */
function follow(before: number): void {
  const stop = effect(() => {
    const next = shownRun.value?.spans.find(({ line, lane }) => line > before && lane === "calls");
    if (next === undefined) return;
    picked.value = next.line;
    panel.value = "calls";
    queueMicrotask(() => stop());
  });
  setTimeout(stop, FOLLOW_MS);
}

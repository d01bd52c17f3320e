import { isObject } from "../../protocol/json.js";
import type { VerdictEvent } from "../../recording/events.js";
import { type AnyMessage, paramsOf } from "../../recording/messages.js";
import { messagesIn, type Run } from "./run.js";

/** What a server offers. */
export type ItemKind = "tool" | "prompt" | "resource" | "template";

/** Entry of the catalogue. */
export interface Item {
  readonly kind: ItemKind;
  /** Name, or URI, by which it is called. */
  readonly name: string;
  readonly description: string | undefined;
  /** About how many tokens the definition costs a model. Undefined if a model does not see it. */
  readonly tokens: number | undefined;
  /** JSON Schema of the arguments. */
  readonly schema: { readonly [key: string]: unknown };
  /** What the server listed. */
  readonly listed: { readonly [key: string]: unknown };
  readonly verdicts: readonly VerdictEvent[];
}

const LISTS: Readonly<Record<string, { readonly member: string; readonly kind: ItemKind }>> = {
  "tools/list": { member: "tools", kind: "tool" },
  "prompts/list": { member: "prompts", kind: "prompt" },
  "resources/list": { member: "resources", kind: "resource" },
  "resources/templates/list": { member: "resourceTemplates", kind: "template" },
};

/** Returns what the server has listed, as it was listed last, in the order of the kinds. */
export function catalogueOf(run: Run): readonly Item[] {
  const asked = new Map<string, AnyMessage>();
  const items = new Map<string, Item>();
  const verdicts = run.events.filter((event) => event.k === "verdict");
  for (const { event, message } of messagesIn(run.events)) {
    const key = `${event.c} ${String(message.id)}`;
    if (event.d === ">" && message.method !== undefined && message.id !== undefined) asked.set(key, message);
    const request = event.d === "<" && message.result !== undefined ? asked.get(key) : undefined;
    const list = LISTS[request?.method ?? ""];
    const listed = list === undefined ? undefined : message.result?.[list.member];
    if (list === undefined || !Array.isArray(listed)) continue;
    // The first page replaces what was listed before.
    if (request !== undefined && paramsOf(request).cursor === undefined)
      for (const [name, { kind }] of items) if (kind === list.kind) items.delete(name);
    for (const one of listed.filter(isObject)) {
      const item = itemOf(list.kind, one as Item["listed"], verdicts);
      items.set(`${item.kind} ${item.name}`, item);
    }
  }
  const order: readonly ItemKind[] = ["tool", "prompt", "resource", "template"];
  return order.flatMap((kind) => [...items.values()].filter((item) => item.kind === kind));
}

function itemOf(kind: ItemKind, listed: Item["listed"], verdicts: readonly VerdictEvent[]): Item {
  const { name, uri, uriTemplate, description, inputSchema } = listed;
  const called = String((kind === "resource" ? uri : kind === "template" ? uriTemplate : name) ?? name);
  return {
    kind,
    name: called,
    description: typeof description === "string" ? description : undefined,
    tokens: kind === "tool" ? tokensOf(String(name), description, inputSchema) : undefined,
    schema: schemaOf(kind, listed),
    listed,
    verdicts: verdicts.filter(({ text }) => names(text, called)),
  };
}

/** About how many tokens a tool costs, at 4.5 bytes for each. */
function tokensOf(name: string, description: unknown, inputSchema: unknown): number {
  return Math.round(
    new TextEncoder().encode(JSON.stringify({ name, description, input_schema: inputSchema })).length / 4.5,
  );
}

function schemaOf(kind: ItemKind, listed: Item["listed"]): Item["schema"] {
  if (kind === "tool") return isObject(listed.inputSchema) ? (listed.inputSchema as Item["schema"]) : {};
  if (kind === "prompt") {
    const named: readonly Item["listed"][] = Array.isArray(listed.arguments) ? listed.arguments.filter(isObject) : [];
    const properties = named.map(({ name, description }) => [name, { type: "string", description }]);
    return {
      type: "object",
      properties: Object.fromEntries(properties),
      required: named.filter(({ required }) => required === true).map(({ name }) => name),
    };
  }
  if (kind === "resource") return { type: "object", properties: {} };
  const variables = [...String(listed.uriTemplate).matchAll(/\{[+#./;?&]?([^}]+)\}/g)].flatMap(([, list = ""]) =>
    list.split(","),
  );
  const plain = variables.map((variable) => variable.replace(/[*]$|:\d+$/, ""));
  return {
    type: "object",
    properties: Object.fromEntries(plain.map((name) => [name, { type: "string" }])),
    required: plain,
  };
}

/** True if a text names an item as a word of its own. */
function names(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1))
    if (!/[\w-]/.test(text[at - 1] ?? " ") && !/[\w-]/.test(text[at + name.length] ?? " ")) return true;
  return false;
}

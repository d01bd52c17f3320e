import type { Tool } from "../../protocol/types/index.js";
import type { Rule } from "../rule.js";
import { visit } from "../subschemas.js";
import { bytesOf, tokensOf, toolBytes } from "../tokens.js";
import { newest } from "./era.js";
import { counted, share } from "./words.js";

/** Tokens above which a catalogue crowds out the work of a model. */
const MANY_TOKENS = 10_000;
const LARGEST = 5;

/** Bytes of a definition that is worth telling, tools that must have it, and bytes that must be repeated. */
const WORTH_BYTES = 100;
const LEAST_TOOLS = 3;
const LEAST_REPEATED = 4_500;
/** Largest catalogue in which repetitions are looked for. */
const MAX_BYTES = 4_000_000;

/** Rules of what a catalogue costs a model. Numbers of tokens are estimates, and say "about". */
export const COST: readonly Rule[] = [
  {
    id: "cost/tokens",
    finds: "a catalogue of more than about 10,000 tokens, with its largest tools",
    remedy: "Shorten descriptions and schemas, join tools, or let hosts load tools on demand (tool search).",
    needs: [],
    check: (facts) => {
      const tools = newest(facts)?.catalogue.tools;
      if (tools === undefined || tools.items.length === 0) return undefined;
      const sized = tools.items.map((tool) => ({ name: String(tool.name), bytes: toolBytes(tool) }));
      const all = tokensOf(sized.reduce((sum, { bytes }) => sum + bytes, 0));
      if (all <= MANY_TOKENS) return [];
      const largest = sized
        .sort((one, two) => two.bytes - one.bytes)
        .slice(0, LARGEST)
        .map(({ name, bytes }) => `${name} ${number(tokensOf(bytes))}`);
      const kept = tokensOf(tools.items.reduce((sum, { name }) => sum + bytesOf(name), 0));
      const text = `about ${number(all)} tokens in ${counted(sized.length, "tool")}; largest: ${largest.join(", ")}. With tool search a host begins with the names: about ${number(kept)} tokens`;
      return [{ level: "warning", place: "tools", text, lines: tools.lines }];
    },
  },
  {
    id: "cost/repeated",
    finds: "the same definition repeated in many tools",
    remedy: "Define a shape only in the tools that use it, or shorten it to what a model must know.",
    needs: [],
    check: (facts) => {
      const tools = newest(facts)?.catalogue.tools;
      if (tools === undefined || tools.items.length === 0) return undefined;
      const all = tools.items.reduce((sum, tool) => sum + toolBytes(tool), 0);
      if (all > MAX_BYTES) return undefined;
      const { bytes, shapes, users } = repetitions(tools.items);
      if (bytes < LEAST_REPEATED) return [];
      const text = `${counted(shapes, "definition")} ${shapes === 1 ? "is" : "are"} repeated in ${share(users, tools.items.length, "tool")}: about ${number(tokensOf(bytes))} of ${number(tokensOf(all))} tokens`;
      return [{ level: "warning", place: "tools", text, lines: tools.lines }];
    },
  },
];

/** Counts the definitions that several tools have, each with the outermost shape that is repeated. */
function repetitions(tools: readonly Tool[]): {
  readonly bytes: number;
  readonly shapes: number;
  readonly users: number;
} {
  const texts = new Map<object, string>();
  const usersOf = new Map<string, Set<Tool>>();
  for (const tool of tools)
    visit(tool.inputSchema, (schema) => {
      if (schema === tool.inputSchema) return true;
      const text = JSON.stringify(schema);
      if (text.length < WORTH_BYTES) return false;
      texts.set(schema, text);
      usersOf.set(text, (usersOf.get(text) ?? new Set()).add(tool));
      return true;
    });
  const isRepeated = (text: string | undefined): text is string =>
    text !== undefined && (usersOf.get(text)?.size ?? 0) >= LEAST_TOOLS;
  const shapes = new Set<string>();
  const users = new Set<Tool>();
  let bytes = 0;
  for (const tool of tools)
    visit(tool.inputSchema, (schema) => {
      const text = texts.get(schema);
      if (!isRepeated(text)) return true;
      // The first time is no repetition.
      if (shapes.has(text)) bytes += text.length;
      shapes.add(text);
      users.add(tool);
      return false;
    });
  return { bytes, shapes: shapes.size, users: users.size };
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}

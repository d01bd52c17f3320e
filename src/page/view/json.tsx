import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

/** Elements of a list or object that are shown before the others are asked for. */
const FIRST = 100;
/** Characters of a text that are shown before the rest is asked for. */
const FIRST_CHARS = 2000;

/** JSON as a tree. What is inside of a closed part is not drawn. */
export function Json({ value, depth = 0 }: { readonly value: unknown; readonly depth?: number }): JSX.Element {
  if (typeof value !== "object" || value === null) return <Leaf value={value} />;
  const entries = Array.isArray(value)
    ? value.map((one, index) => [String(index), one] as const)
    : Object.entries(value);
  if (entries.length === 0) return <span class="json-empty">{Array.isArray(value) ? "[]" : "{}"}</span>;
  return <Entries entries={entries} depth={depth} isList={Array.isArray(value)} />;
}

interface EntriesProps {
  readonly entries: readonly (readonly [string, unknown])[];
  readonly depth: number;
  readonly isList: boolean;
}

function Entries({ entries, depth, isList }: EntriesProps): JSX.Element {
  const limit = useSignal(FIRST);
  return (
    <ul class="json">
      {entries.slice(0, limit.value).map(([name, one]) => (
        <li key={name}>
          <Entry name={name} value={one} depth={depth} isList={isList} />
        </li>
      ))}
      {entries.length > limit.value && (
        <li>
          <button type="button" class="quiet" onClick={() => (limit.value += FIRST * 10)}>
            {`${entries.length - limit.value} more`}
          </button>
        </li>
      )}
    </ul>
  );
}

interface EntryProps {
  readonly name: string;
  readonly value: unknown;
  readonly depth: number;
  readonly isList: boolean;
}

function Entry({ name, value, depth, isList }: EntryProps): JSX.Element {
  const isOpen = useSignal(depth < 2);
  const key = <span class={isList ? "json-index" : "json-key"}>{name}</span>;
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0)
    return (
      <div class="json-line">
        {key} <Json value={value} />
      </div>
    );
  return (
    <details open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        {key} <span class="json-brief">{briefOf(value)}</span>
      </summary>
      {isOpen.value && <Json value={value} depth={depth + 1} />}
    </details>
  );
}

function briefOf(value: object): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  const names = Object.keys(value);
  return `{ ${names.slice(0, 4).join(", ")}${names.length > 4 ? ", …" : ""} }`;
}

function Leaf({ value }: { readonly value: unknown }): JSX.Element {
  if (typeof value === "string") return <LongText text={value} isQuoted />;
  return <span class={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
}

/** Text of a stranger: as it is, and cut where it is long until the rest is asked for. */
export function LongText({
  text,
  isQuoted = false,
}: {
  readonly text: string;
  readonly isQuoted?: boolean;
}): JSX.Element {
  const isWhole = useSignal(false);
  const isCut = text.length > FIRST_CHARS && !isWhole.value;
  return (
    <span class={isQuoted ? "json-string" : "text"}>
      {isCut ? text.slice(0, FIRST_CHARS) : text}
      {isCut && (
        <button type="button" class="quiet" onClick={() => (isWhole.value = true)}>
          {`… ${(text.length - FIRST_CHARS).toLocaleString("en")} more characters`}
        </button>
      )}
    </span>
  );
}

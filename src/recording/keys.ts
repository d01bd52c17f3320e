import { isObject } from "../protocol/json.js";
import { type AnyMessage, paramsOf } from "./messages.js";

/** Requests of which there is one of each on a connection. Their params tell of the client, not of the wish. */
const BY_METHOD: ReadonlySet<string | undefined> = new Set(["initialize", "server/discover"]);

/** Params that do not tell what is asked for. */
const VOLATILE: ReadonlySet<string> = new Set(["_meta", "inputResponses"]);

const PSEUDONYMS = /<([a-z]+):[\w.-]+>/g;

/** Returns what a request asks for: its params, without those that differ from run to run. */
export function wishOf(request: AnyMessage): { readonly [key: string]: unknown } {
  if (BY_METHOD.has(request.method)) return {};
  return Object.fromEntries(Object.entries(paramsOf(request)).filter(([name]) => !VOLATILE.has(name)));
}

/** Returns a text that is equal for requests that ask for the same. */
export function requestKey(request: AnyMessage): string {
  return `${request.method} ${JSON.stringify(sorted(wishOf(request)))}`;
}

/** Returns the text without the numbers of pseudonyms, which differ from recorder to recorder. */
export function withoutNumbers(text: string): string {
  return text.replace(PSEUDONYMS, "<$1>");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
}

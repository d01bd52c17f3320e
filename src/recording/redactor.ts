import { toBase64 } from "../protocol/base64.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../protocol/known-options.js";
import { dropOldest } from "../protocol/oldest.js";
import type { NewEvent, RecordedHeaders, RedactionNote } from "./events.js";
import { KnownValues, MIN_KNOWN } from "./known-values.js";
import { RECORDING_LIMITS, type RecordingLimits } from "./limits.js";
import { CODE_NAMES, SecretNames } from "./secret-names.js";
import { replaceForms, replaceNamed } from "./secret-patterns.js";

/** What a recorder replaces, in addition to what it replaces by default. */
export interface RedactionOptions {
  /**
   * Secret values by name, such as the environment of a server: each is replaced by `<env:NAME>` wherever it appears,
   * also in base64 or in a URL. Values with fewer than eight characters are ignored.
   */
  readonly values?: { readonly [name: string]: string | undefined } | undefined;
  /** Members to replace: names, in any spelling, or JSON pointers into messages such as `/params/arguments/pin`. */
  readonly redact?: readonly string[] | undefined;
  /** Members and headers to keep: names, or JSON pointers into messages. */
  readonly keep?: readonly string[] | undefined;
}

export const REDACTION_OPTIONS: Known<RedactionOptions> = {
  values: "object",
  redact: [{ array: "string" }],
  keep: [{ array: "string" }],
};

/** Pseudonym of a value: its kind, with a number or a name. */
const PSEUDONYM = /^<[a-z]+:[\w.-]+>$/;

/** Headers whose values are kept. Those of the protocol begin with `mcp-`, those of CORS with `access-control-`. */
const KEPT_HEADERS: ReadonlySet<string> = new Set([
  ...[
    "accept",
    "accept-encoding",
    "accept-language",
    "age",
    "allow",
    "cache-control",
    "connection",
    "content-encoding",
  ],
  ...["content-length", "content-type", "date", "etag", "expires", "host", "keep-alive", "last-modified", "location"],
  ...["origin", "pragma", "retry-after", "server", "traceparent", "transfer-encoding", "user-agent", "vary"],
  ...["x-accel-buffering", "x-content-type-options", "strict-transport-security"],
]);

/** Kinds of the headers that are bearer values of the protocol, or are told by kind. */
const HEADER_KINDS: { readonly [name: string]: string } = {
  "mcp-session-id": "session",
  "last-event-id": "event",
  dpop: "dpop",
  cookie: "cookie",
  "set-cookie": "cookie",
};

/** Parameters of a challenge that tell no secret. */
const CHALLENGE_PARAMS =
  /^(?:realm|scope|error|error_description|error_uri|resource_metadata|resource|algs|max_age|acr_values)$/i;

/** Members whose strings are schemas' or names, not values: a property called `password` is none. */
const SCHEMAS: ReadonlySet<string> = new Set(["properties", "patternProperties", "$defs", "definitions"]);

const MAX_DEPTH = 400;
/** Number and length of the texts whose redaction is remembered. */
const MAX_CACHED = 2_000;
const MAX_CACHED_CHARS = 80;
/** Fields of a form, as in the body of a request for a token. */
const FORM = /^[\w%.-]+=[^\s&]*&\S*$/;

/** Length from which characters of base64 are taken for it. */
const MIN_RUN = 16;
/** Base64, also in lines of one length. It begins where its characters do, so that each is looked at once. */
const BASE64_RUN =
  /(?<![A-Za-z0-9+/_-])(?:(?:[A-Za-z0-9+/_-]{60,76}\r?\n)+[A-Za-z0-9+/_-]{1,76}={0,2}|[A-Za-z0-9+/_-]{16,}={0,2})/g;
/** 1 for the codes of characters of base64. */
const IN_RUN = new Uint8Array(128);
for (const char of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-") IN_RUN[char.charCodeAt(0)] = 1;
/** How often base64 within base64 is decoded. */
const MAX_LAYERS = 3;
const TEXTUAL = /^[\t\n\r\x20-\x7e\x80-\xff]*$/;

/**
 * Replaces what must not be recorded. A value becomes a pseudonym, `<kind:n>`, and equal values have the same one, so that
 * comparisons and replays work. A pseudonym is never replaced again.
 */
export class Redactor {
  /** Number of replaced values by kind. */
  readonly counts: { [kind: string]: number } = {};
  readonly #names: SecretNames;
  readonly #known: KnownValues;
  readonly #numbers = new Map<string, Map<string, string>>();
  /** Short texts that were redacted, since names and words of the protocol come again and again. */
  readonly #texts = new Map<string, string>();
  readonly #next: { [kind: string]: number } = {};
  readonly #options: RedactionOptions;
  readonly #limits: Pick<RecordingLimits, "maxPseudonyms">;
  readonly #redactAt: readonly (readonly string[])[];
  readonly #keepAt: readonly (readonly string[])[];
  readonly #hasPointers: boolean;

  constructor(options: RedactionOptions = {}, limits?: Optional<Pick<RecordingLimits, "maxPseudonyms">>) {
    assertOptions({ Redactor }, options, REDACTION_OPTIONS);
    const { redact = [], keep = [], values = {} } = options;
    this.#options = options;
    this.#limits = withDefaults(limits, RECORDING_LIMITS);
    this.#names = new SecretNames(redact.filter(isName), keep.filter(isName));
    this.#redactAt = redact.filter((text) => !isName(text)).map(segmentsOf);
    this.#keepAt = keep.filter((text) => !isName(text)).map(segmentsOf);
    this.#hasPointers = this.#redactAt.length + this.#keepAt.length > 0;
    this.#known = new KnownValues(this.#limits.maxPseudonyms);
    for (const [name, value] of Object.entries(values))
      if (value !== undefined) this.#known.tell(value, `<env:${name.replace(/[^\w.-]/g, "_")}>`);
  }

  /** Counts a value that was given by name, when it is found first. */
  readonly #onKnown = (pseudonym: string) => {
    if (pseudonym.startsWith("<env:")) this.#name("env", pseudonym.slice(5));
  };

  /** What the header of a recording tells. */
  get note(): RedactionNote {
    const { redact, keep } = this.#options;
    return { profile: "default", ...(redact !== undefined && { redact }), ...(keep !== undefined && { keep }) };
  }

  /** Redacts all members of an event, but `m` and `raw` of a frame (see `frameContent`). */
  event<E extends NewEvent>(event: E): E {
    switch (event.k) {
      case "frame":
        return event.id === undefined ? event : { ...event, id: this.#name("event", event.id) };
      case "request":
        return { ...event, path: this.url(event.path), headers: this.headers(event.headers) };
      case "response":
        return { ...event, headers: this.headers(event.headers) };
      case "auth":
        return this.message({ ...event, url: this.url(event.url) }) as E;
      case "open":
        return { ...event, ...(event.server !== undefined && { server: this.#server(event.server) }) };
      default:
        return this.message(event) as E;
    }
  }

  /** Redacts a JSON value. Returns the same value if nothing is replaced. */
  message(value: unknown): unknown {
    return this.#walk(value, "", "", this.#hasPointers ? [] : undefined, 0);
  }

  /** Redacts the headers of a request or response. */
  headers(headers: RecordedHeaders): RecordedHeaders {
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, this.#header(name, value)]));
  }

  /** Redacts a URL, or the path and query of one. */
  url(url: string): string {
    const at = url.search(/[?#]/);
    if (at === -1) return this.text(url);
    const query = url
      .slice(at)
      .replace(/([?&#])([^=&#]+)=([^&#]*)/g, (_all, before: string, name: string, value: string) => {
        const isCode = CODE_NAMES.has(name);
        const redacted =
          isCode || this.#names.has(decoded(name))
            ? this.#named(isCode ? "code" : "secret", decoded(value))
            : this.text(value);
        return `${before}${name}=${redacted}`;
      });
    return this.text(url.slice(0, at)) + query;
  }

  /** Redacts a text: known values, values in a well-known form, values of secret names, also in base64. */
  text(text: string): string {
    if (text.length < 4) return text;
    if (text.length > MAX_CACHED_CHARS) return this.#search(text);
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const redacted = this.#search(text);
    if (this.#texts.size >= MAX_CACHED) this.#texts.clear();
    this.#texts.set(text, redacted);
    return redacted;
  }

  #search(text: string, layers = 0): string {
    if (PSEUDONYM.test(text)) return text;
    const isSearched = layers < MAX_LAYERS && hasRun(text);
    return this.#plain(isSearched ? text.replace(BASE64_RUN, (run) => this.#base64(run, layers)) : text);
  }

  #plain(text: string): string {
    const known = this.#known.replace(text, this.#onKnown);
    const formed = this.#formed(known);
    if (!this.#names.mayBeIn(formed)) return formed;
    const isParameter = FORM.test(formed) ? /^[A-Za-z?&#]/ : /^[?&#]/;
    const isSecret = (name: string, value: string, before: string) =>
      this.#names.hides(name, value) || (CODE_NAMES.has(name) && isParameter.test(before));
    return replaceNamed(formed, isSecret, (value) => (isHarmless(value) ? value : this.#named("secret", value)));
  }

  #formed(text: string): string {
    return replaceForms(text, (kind, value) => this.#named(kind, value));
  }

  /** Replaces what is secret in a base64 text, which stays base64. */
  #base64(run: string, layers: number): string {
    if (run.includes("\n")) return this.#base64Lines(run, layers);
    const [padded] = /^[^=]*/.exec(run) as RegExpExecArray;
    if (padded.length % 4 === 1) return run;
    const isUrl = /[-_]/.test(padded);
    if (isUrl && /[+/]/.test(padded)) return run;
    const text = atob(isUrl ? padded.replaceAll("-", "+").replaceAll("_", "/") : padded);
    // Among bytes that are no text, an equal sign assigns nothing.
    const redacted = TEXTUAL.test(text)
      ? this.#search(text, layers + 1)
      : this.#formed(this.#known.replace(text, this.#onKnown));
    if (redacted === text) return run;
    const encoded = toBase64(Uint8Array.from(redacted, (char) => char.charCodeAt(0)));
    const bare = run.length === padded.length ? encoded.replace(/=+$/, "") : encoded;
    return isUrl ? bare.replaceAll("+", "-").replaceAll("/", "_") : bare;
  }

  /** The same for base64 in lines. Lines that are no base64 together are searched one by one. */
  #base64Lines(run: string, layers: number): string {
    const joined = run.replace(/[\r\n]/g, "");
    const redacted = this.#base64(joined, layers);
    if (redacted === joined) return run.replace(/[^\r\n]{16,}/g, (line) => this.#base64(line, layers));
    const width = run.search(/[\r\n]/);
    const end = run.includes("\r") ? "\r\n" : "\n";
    return (redacted.match(new RegExp(`.{1,${width}}`, "g")) ?? []).join(end);
  }

  #header(name: string, value: string): string {
    if (this.#names.keeps(name)) return value;
    const kind = HEADER_KINDS[name];
    if (kind !== undefined) return kind === "event" ? this.#name(kind, value) : this.#named(kind, value);
    if (/authorization$/.test(name)) {
      const [, scheme = "", token = value] = /^(\S+) +(.*)$/s.exec(value) ?? [];
      return this.#named(/^bearer$/i.test(scheme) ? "bearer" : "authorization", token);
    }
    if (name === "www-authenticate" || name === "proxy-authenticate") return this.#challenge(value);
    if (name === "location") return this.url(value);
    const isKept = KEPT_HEADERS.has(name) || name.startsWith("access-control-");
    if (isKept || (name.startsWith("mcp-") && !this.#names.has(name))) return this.text(value);
    return this.#named("header", value);
  }

  #challenge(value: string): string {
    const known = (name: string) => CHALLENGE_PARAMS.test(name);
    return this.text(value).replace(
      /([\w-]+)=("(?:[^"\\]|\\.)*"|[^\s,"]+)/g,
      (all: string, name: string, text: string) => (known(name) ? all : `${name}="${this.#name("param", text)}"`),
    );
  }

  #server<S extends { readonly url?: string | undefined; readonly args?: readonly string[] | undefined }>(
    server: S,
  ): S {
    const { url, args } = server;
    return {
      ...(this.message({ ...server, url: undefined, args: undefined }) as S),
      url: url === undefined ? undefined : this.url(url),
      args: args?.map((arg, at) => {
        const flag = /^--?([\w-]+)$/.exec(args[at - 1] ?? "")?.[1];
        return flag !== undefined && this.#names.has(flag) ? this.#named("secret", arg) : this.text(arg);
      }),
    };
  }

  #walk(value: unknown, name: string, parent: string, path: readonly string[] | undefined, depth: number): unknown {
    if (typeof value === "string") return this.#string(value, name, path);
    if (typeof value !== "object" || value === null) {
      const isSecret = typeof value === "number" && this.#isSecretNumber(name, path);
      return isSecret ? this.#named("secret", String(value)) : value;
    }
    if (depth > MAX_DEPTH) return this.#name("depth", "");
    if (path !== undefined && isAt(path, this.#keepAt) && isShallow(value, depth)) return value;
    // A member of a schema has the name of what it describes. All that is within another member with a secret name is
    // secret.
    const inherits = name !== "" && !SCHEMAS.has(parent) && this.#names.has(name) ? name : undefined;
    if (Array.isArray(value)) return this.#list(value, inherits ?? name, parent, path, depth);
    return this.#object(value as Record<string, unknown>, inherits, name, path, depth);
  }

  #list(
    list: readonly unknown[],
    name: string,
    parent: string,
    path: readonly string[] | undefined,
    depth: number,
  ): unknown {
    let copy: unknown[] | undefined;
    for (let at = 0; at < list.length; at++) {
      const below = path && [...path, String(at)];
      const redacted = this.#pair(list[at], below, depth) ?? this.#walk(list[at], name, parent, below, depth + 1);
      if (redacted === list[at]) continue;
      copy ??= [...list];
      copy[at] = redacted;
    }
    return copy ?? list;
  }

  /** Redacts `["name", "value"]` among others, as headers are often written. Undefined for anything else. */
  #pair(item: unknown, path: readonly string[] | undefined, depth: number): unknown {
    if (!Array.isArray(item) || item.length !== 2 || typeof item[0] !== "string") return undefined;
    if (typeof item[1] !== "string" || !this.#names.hides(item[0], item[1])) return undefined;
    return [item[0], this.#walk(item[1], item[0], "", path && [...path, "1"], depth + 1)];
  }

  #object(
    object: Record<string, unknown>,
    inherits: string | undefined,
    parent: string,
    path: readonly string[] | undefined,
    depth: number,
  ): unknown {
    let copy: [string, unknown][] | undefined;
    const keys = Object.keys(object);
    const named = this.#nameOfValue(object);
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at] as string;
      const value = object[key];
      const redacted = this.#walk(
        value,
        inherits ?? (key === "value" ? named : undefined) ?? key,
        parent,
        path && [...path, key],
        depth + 1,
      );
      const told = key.length < MIN_KNOWN ? key : this.text(key);
      if (redacted === value && told === key) continue;
      copy ??= Object.entries(object);
      copy[at] = [told, redacted];
    }
    return copy === undefined ? object : Object.fromEntries(copy);
  }

  /** Returns the secret name of an object such as `{ name: "API_KEY", value: "..." }`. */
  #nameOfValue(object: Record<string, unknown>): string | undefined {
    if (!Object.hasOwn(object, "value")) return undefined;
    const { name, key } = object;
    return [name, key].find((one): one is string => typeof one === "string" && this.#names.has(one));
  }

  #string(value: string, name: string, path: readonly string[] | undefined): string {
    if (path !== undefined) {
      if (isAt(path, this.#keepAt)) return value;
      if (isAt(path, this.#redactAt)) return this.#named("secret", value);
    }
    if (name === "requestState") return this.#name("state", value);
    if (name !== "" && this.#names.hides(name, value) && !isHarmless(value)) return this.#named("secret", value);
    return this.#names.keeps(name) ? value : this.text(value);
  }

  #isSecretNumber(name: string, path: readonly string[] | undefined): boolean {
    if (path !== undefined && isAt(path, this.#redactAt)) return true;
    return name !== "" && !/token/i.test(name) && this.#names.has(name);
  }

  /** Returns the pseudonym of a value, and from now on replaces the value wherever it appears. */
  #named(kind: string, value: string): string {
    const pseudonym = this.#name(kind, value);
    // A word such as "password" must not vanish from all texts.
    const isWord = value.length < 12 && !/[^A-Za-z]/.test(value);
    // Texts that were searched before may have it.
    if (!isWord && this.#known.add(value, pseudonym)) this.#texts.clear();
    return pseudonym;
  }

  /** Returns the pseudonym of a value. */
  #name(kind: string, value: string): string {
    if (PSEUDONYM.test(value)) return value;
    const known = this.#numbers.get(kind) ?? new Map<string, string>();
    this.#numbers.set(kind, known);
    const key = keyOf(value);
    const old = known.get(key);
    if (old !== undefined) return old;
    const number = (this.#next[kind] ?? 0) + 1;
    this.#next[kind] = number;
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    const pseudonym = `<${kind}:${number}>`;
    known.set(key, pseudonym);
    dropOldest(known, this.#limits.maxPseudonyms);
    return pseudonym;
  }
}

/** Returns a key for a value. Long ones are told apart by a digest, so that a stranger cannot fill the memory with them. */
function keyOf(value: string): string {
  if (value.length <= 128) return value;
  let [one, two] = [0x811c9dc5, 0xc9dc5811];
  for (let at = 0; at < value.length; at++) {
    one = Math.imul(one ^ value.charCodeAt(at), 0x01000193);
    two = Math.imul(two ^ value.charCodeAt(at), 0x01000193) ^ (two >>> 15);
  }
  return `${value.length} ${one} ${two}`;
}

/** True if a text has base64. A run covers a character of each such distance, so that few are looked at. */
function hasRun(text: string): boolean {
  for (let at = MIN_RUN - 1; at < text.length; at += MIN_RUN) {
    if (!isInRun(text, at)) continue;
    let [from, to] = [at, at];
    while (from > 0 && at - from < MIN_RUN && isInRun(text, from - 1)) from--;
    while (to - from < MIN_RUN && isInRun(text, to)) to++;
    if (to - from >= MIN_RUN) return true;
  }
  return false;
}

function isInRun(text: string, at: number): boolean {
  // There is no code at the end.
  return IN_RUN[text.charCodeAt(at)] === 1;
}

/** True for a value that tells nothing: none, a yes or no, or a pseudonym. */
function isHarmless(value: string): boolean {
  return value === "" || /^(?:null|undefined|true|false|\*+|\.\.\.)$/.test(value) || PSEUDONYM.test(value);
}

const isName = (text: string) => !text.startsWith("/");

function segmentsOf(pointer: string): readonly string[] {
  return pointer
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** True if a path is one of the pointers, or within one. `*` stands for any segment. */
function isAt(path: readonly string[], pointers: readonly (readonly string[])[]): boolean {
  return pointers.some(
    (pointer) => pointer.length <= path.length && pointer.every((part, at) => part === "*" || part === path[at]),
  );
}

/** True for a value that can be serialized without exhausting the stack. */
export function isShallow(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth > MAX_DEPTH) return false;
  for (const key in value) if (!isShallow((value as Record<string, unknown>)[key], depth + 1)) return false;
  return true;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

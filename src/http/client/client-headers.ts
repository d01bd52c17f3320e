export type HeaderRecord = Record<string, string>;

/** Headers that the protocol owns: a caller can neither set nor remove them. */
const RESERVED = new Set([
  "accept",
  "content-type",
  "content-length",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
]);
const PARAM_PREFIX = "mcp-param-";
const REQUIRED_TYPES = ["application/json", "text/event-stream"];

/** The headers that a link begins every POST and every GET with. Names are in lower case. */
export interface ClientHeaders {
  readonly post: Readonly<HeaderRecord>;
  readonly get: Readonly<HeaderRecord>;
  /** Those for requests that have no body and want none. */
  readonly bare: Readonly<HeaderRecord>;
}

export function createClientHeaders(own: HeadersInit): ClientHeaders {
  const bare: HeaderRecord = {};
  let accept: string[] = [];
  for (const [name, value] of new Headers(own)) {
    if (name === "accept") accept = value.split(",").map((type) => type.trim());
    else if (!RESERVED.has(name) && !name.startsWith(PARAM_PREFIX)) bare[name] = value;
  }
  const more = accept.filter((type) => type !== "" && !REQUIRED_TYPES.includes(mediaTypeOf(type)));
  return {
    bare,
    get: { ...bare, accept: "text/event-stream" },
    post: { ...bare, accept: [...REQUIRED_TYPES, ...more].join(", "), "content-type": "application/json" },
  };
}

function mediaTypeOf(range: string): string {
  return (range.split(";", 1)[0] as string).trim().toLowerCase();
}

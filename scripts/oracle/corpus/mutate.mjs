/** Changes valid requests into invalid ones: one fault each, chosen by the generator. */

const JUNK = [
  null,
  true,
  0,
  -1,
  1.5,
  1e21,
  "",
  "junk",
  "é😀",
  [],
  [1],
  {},
  { a: 1 },
  "__proto__",
  Number.MAX_SAFE_INTEGER,
];
const HEADER_JUNK = [
  "",
  " ",
  "junk",
  "*/*",
  "application/json",
  "2025-06-18",
  "=?base64?ZWNobw==?=",
  "=?base64?#?=",
  "é",
  "a,b",
  "1900-01-01",
];
const METHODS = ["PUT", "PATCH", "GET", "DELETE", "HEAD", "OPTIONS", "post", "TRACE-ME"];
const URLS = [
  "/",
  "/mcp/",
  "/mcp?a=1",
  "/other",
  "/sse",
  "/messages",
  "//mcp",
  "/.well-known/oauth-protected-resource/mcp",
];
const EXTRA_HEADERS = [
  ["origin", "https://evil.example.com"],
  ["origin", "http://localhost:8080"],
  ["origin", "null"],
  ["host", "evil.example.com"],
  ["host", "api.example.com"],
  ["host", "127.0.0.1:8080"],
  ["host", undefined],
  ["content-encoding", "gzip"],
  ["mcp-session-id", "unknown"],
  ["mcp-session-id", "not visible é"],
  ["last-event-id", "none"],
  ["mcp-param-region", "eu"],
  ["mcp-param-region", "us"],
  ["mcp-param-other", "x"],
  ["mcp-name", "other"],
  ["mcp-method", "ping"],
  ["mcp-protocol-version", "2025-11-25"],
  ["mcp-protocol-version", "2026-07-28"],
  ["mcp-protocol-version", "2099-01-01"],
  ["authorization", "Bearer good"],
  ["x-test", "seen"],
  ["accept", "application/json"],
  ["accept", "text/event-stream"],
  ["accept", "text/html"],
  ["accept", "application/json;q=0, text/event-stream"],
  ["accept", undefined],
  ["content-type", "text/plain"],
  ["content-type", "application/json; charset=utf-8"],
  ["content-type", "APPLICATION/JSON"],
  ["content-type", "application/jsonx"],
  ["content-type", undefined],
];

/**
 * Returns a copy of a request with one fault.
 * @param {any} step
 * @param {import("./random.mjs").Random} random
 */
export function mutate(step, random) {
  const kinds = [
    mutateBody,
    mutateBody,
    mutateBody,
    mutateHeader,
    mutateHeader,
    addHeader,
    addHeader,
    mutateText,
    mutateLine,
  ];
  return random.pick(kinds)(structuredClone(step), random);
}

/** Returns a copy of a frame, as text, with one fault. */
export function mutateFrame(message, random) {
  const step = { body: structuredClone(message) };
  const { body } = random.chance(0.75) ? mutateBody(step, random) : mutateText(step, random);
  return typeof body === "string" ? body : JSON.stringify(body);
}

function mutateBody(step, random) {
  const places = placesOf(step.body);
  if (places.length === 0) return mutateText(step, random);
  const { holder, key } = random.pick(places);
  const fault = random.below(4);
  if (fault === 0) Array.isArray(holder) ? holder.splice(key, 1) : delete holder[key];
  else if (fault === 1) holder[key] = random.pick(JUNK);
  else if (fault === 2) holder[random.pick(["junk", "id", "name", "_meta", "jsonrpc", "cursor"])] = random.pick(JUNK);
  else holder[key] = twist(holder[key]);
  return step;
}

/** Returns every member of a value, at any depth. */
function placesOf(value) {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((key) => [{ holder: value, key }, ...placesOf(value[key])]);
}

/** Returns a value of another type, or text in another case, made from the value. */
function twist(value) {
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return value === value.toUpperCase() ? [value] : value.toUpperCase();
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return value[0] ?? null;
  return [value];
}

function mutateHeader(step, random) {
  const name = random.pick(Object.keys(step.headers));
  const fault = random.below(4);
  if (fault === 0) step.headers[name] = undefined;
  else if (fault === 1) step.headers[name] = random.pick(HEADER_JUNK);
  else if (fault === 2) step.headers[name] = [step.headers[name] ?? "x", random.pick(HEADER_JUNK)];
  else step.headers[name] = String(step.headers[name]).toUpperCase();
  return step;
}

function addHeader(step, random) {
  const [name, value] = random.pick(EXTRA_HEADERS);
  step.headers[name] = value;
  return step;
}

function mutateText(step, random) {
  const text = typeof step.body === "string" ? step.body : JSON.stringify(step.body ?? {});
  const at = random.below(Math.max(text.length, 1));
  const faults = [
    () => text.slice(0, at),
    () => `${text.slice(0, at)}${random.pick(['"', "{", "\u0000", ",", "\\", "é"])}${text.slice(at)}`,
    () => `\ufeff${text}`,
    () => ` \n${text}\r\n`,
    () => `[${text}]`,
    () => `[${text},${text}]`,
    () => "[]",
    () => "",
    () => `${"[".repeat(2000)}${"]".repeat(2000)}`,
    () => `${text}${text}`,
    () => text.replace("{", '{"id":7,'),
    () => `${text.slice(0, -1)},"padding":"${"x".repeat(800)}"}`,
  ];
  step.body = random.pick(faults)();
  return step;
}

function mutateLine(step, random) {
  if (random.chance(0.5)) step.method = random.pick(METHODS);
  else step.url = random.pick(URLS);
  return step;
}

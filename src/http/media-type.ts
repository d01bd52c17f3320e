/** One media type with parameters; a comma outside quotes would be a second value, which is refused. */
const JSON_TYPE = /^[ \t]*application\/json[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;
const EVENT_STREAM_TYPE = /^[ \t]*text\/event-stream[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;
const ZERO_QUALITY = /;\s*q\s*=\s*0(?:\.0{0,3})?\s*(?:;|$)/i;

/** Whether a content-type header names JSON, parameters such as charset aside. */
export function isJson(contentType: string | undefined | null): boolean {
  return contentType === "application/json" || (contentType != null && JSON_TYPE.test(contentType));
}

/** Whether a content-type header names an event stream, parameters aside. */
export function isEventStream(contentType: string | undefined | null): boolean {
  return contentType === "text/event-stream" || (contentType != null && EVENT_STREAM_TYPE.test(contentType));
}

/**
 * Whether an Accept header allows `type` (lower case, no parameters). No header allows everything. The most specific
 * range that matches decides; parameters other than q are not compared.
 */
export function accepts(accept: string | readonly string[] | undefined | null, type: string): boolean {
  if (accept == null) return true;
  const ranges = String(accept).replace(QUOTED, "").split(",");
  for (const name of [type, type.replace(/\/.*/, "/*"), "*/*"]) {
    const matching = ranges.filter((range) => range.split(";", 1)[0]?.trim().toLowerCase() === name);
    if (matching.length > 0) return matching.some((range) => !ZERO_QUALITY.test(range));
  }
  return false;
}

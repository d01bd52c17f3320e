/** Match one media type with parameters. A comma outside quotes would start a second value, which is refused. */
const JSON_TYPE = /^[ \t]*application\/json[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;
const EVENT_STREAM_TYPE = /^[ \t]*text\/event-stream[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;
const ZERO_QUALITY = /;\s*q\s*=\s*0(?:\.0{0,3})?\s*(?:;|$)/i;

/** True if a Content-Type header is JSON, with any parameters. */
export function isJson(contentType: string | undefined | null): boolean {
  return contentType === "application/json" || (contentType != null && JSON_TYPE.test(contentType));
}

/** True if a Content-Type header is an event stream, with any parameters. */
export function isEventStream(contentType: string | undefined | null): boolean {
  return contentType === "text/event-stream" || (contentType != null && EVENT_STREAM_TYPE.test(contentType));
}

/**
 * True if an Accept header allows `type`, given in lower case without parameters. An absent header allows every type.
 * The most specific matching range decides. Parameters other than q are ignored.
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

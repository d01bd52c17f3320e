/** One media type with parameters; a comma outside quotes would be a second value, which is refused. */
const JSON_TYPE = /^[ \t]*application\/json[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;
const EVENT_STREAM_TYPE = /^[ \t]*text\/event-stream[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;
const ZERO_QUALITY = /^0(?:\.0{0,3})?$/;

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
  const header = typeof accept === "string" ? accept : accept.join(",");
  const group = `${type.slice(0, type.indexOf("/"))}/*`;
  let specificity = 0;
  let allowed = false;
  for (const range of splitUnquoted(header, ",")) {
    const semicolon = range.indexOf(";");
    const name = (semicolon === -1 ? range : range.slice(0, semicolon)).trim().toLowerCase();
    const rank = name === type ? 3 : name === group ? 2 : name === "*/*" ? 1 : 0;
    if (rank === 0 || rank < specificity) continue;
    const wanted = semicolon === -1 || !isExcluded(range.slice(semicolon + 1));
    allowed = rank === specificity ? allowed || wanted : wanted;
    specificity = rank;
  }
  return allowed;
}

/** For what is read from a header that clients send the same over and over: the last answer is kept. */
export function rememberLast<T>(read: (header: string | undefined) => T): (header: string | undefined) => T {
  let last: { readonly header: string | undefined; readonly value: T } | undefined;
  return (header) => {
    if (last === undefined || last.header !== header) last = { header, value: read(header) };
    return last.value;
  };
}

function isExcluded(parameters: string): boolean {
  for (const parameter of splitUnquoted(parameters, ";")) {
    const equals = parameter.indexOf("=");
    if (equals === -1 || parameter.slice(0, equals).trim().toLowerCase() !== "q") continue;
    return ZERO_QUALITY.test(parameter.slice(equals + 1).trim());
  }
  return false;
}

/** Splits a header value where the separator stands outside a quoted string. */
function splitUnquoted(text: string, separator: string): string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') quoted = !quoted;
    else if (quoted && char === "\\") at++;
    else if (!quoted && char === separator) {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

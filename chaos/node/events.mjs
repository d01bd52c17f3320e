import { createHash } from "node:crypto";

/** Records the ids of the events that a response sends, with a digest of their messages. */
export function observeEvents(request, response, truth) {
  if (request.headers["mcp-session-id"] === undefined && request.method !== "POST") return;
  const reader = new EventReader((id, digest) => {
    const session = request.headers["mcp-session-id"] ?? response.getHeader("mcp-session-id");
    if (session !== undefined) truth.write("event", session, id, digest);
  });
  const { write, end } = response;
  response.write = function (...args) {
    reader.read(args[0]);
    return write.apply(this, args);
  };
  response.end = function (...args) {
    reader.read(args[0]);
    return end.apply(this, args);
  };
}

/** Reads the events of a text that comes in parts. */
export class EventReader {
  #onEvent;
  #decoder = new TextDecoder();
  #rest = "";

  /** `onEvent` gets the id and the digest of each message with an id. */
  constructor(onEvent) {
    this.#onEvent = onEvent;
  }

  read(chunk) {
    if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) return;
    const text = typeof chunk === "string" ? chunk : this.#decoder.decode(chunk, { stream: true });
    const events = (this.#rest + text).split("\n\n");
    this.#rest = events.pop();
    for (const event of events) this.#note(event);
  }

  /** An event without a message only names a position. */
  #note(event) {
    const [id] = valuesOf(event, "id");
    const data = valuesOf(event, "data").join("\n");
    if (id !== undefined && data !== "") this.#onEvent(id, createHash("md5").update(data).digest("base64"));
  }
}

function valuesOf(event, name) {
  const lines = event.split("\n").filter((line) => line.startsWith(`${name}:`));
  return lines.map((line) => line.slice(name.length + 1).trimStart());
}

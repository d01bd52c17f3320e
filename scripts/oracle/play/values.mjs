const SLOT = /\{\{(\w+)\}\}/g;

/**
 * Values that the server created and a later step needs. `{{session}}` and similar slots in a step stand for the latest
 * value of each.
 */
export class Values {
  #values = {};

  /** Takes the values of a response: `{ headers, chunks }`, or frames as chunks. */
  take({ headers = {}, chunks = [] }) {
    const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
    for (const [name, value] of pairs) if (name.toLowerCase() === "mcp-session-id") this.#values.session = value;
    for (const line of chunks.join("").split("\n")) this.#takeLine(line);
  }

  /**
   * Returns a copy of a value with every slot filled. A slot without a value stays.
   * @template T
   * @param {T} value
   * @returns {T}
   */
  fill(value) {
    if (typeof value === "string") return value.replace(SLOT, (slot, name) => this.#values[name] ?? slot);
    if (Array.isArray(value)) return value.map((one) => this.fill(one));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [this.fill(key), this.#fillMember(inner)]));
  }

  /** A value that is a single slot keeps its type, since ids may be numbers. */
  #fillMember(value) {
    const whole = typeof value === "string" ? /^\{\{(\w+)\}\}$/.exec(value) : null;
    return whole === null ? this.fill(value) : (this.#values[whole[1]] ?? value);
  }

  #takeLine(line) {
    if (line.startsWith("id: ")) this.#values.event = line.slice(4);
    if (line.startsWith("data: /")) this.#values.endpoint = line.slice(6);
    const message = parse(line.startsWith("data: ") ? line.slice(6) : line);
    if (message?.method !== undefined && message.id !== undefined) this.#values.question = message.id;
    const { requestState, inputRequests, nextCursor } = message?.result ?? {};
    if (requestState !== undefined) this.#values.state = requestState;
    if (nextCursor !== undefined) this.#values.cursor = nextCursor;
    Object.keys(inputRequests ?? {}).forEach((key, index) => {
      this.#values[`key${index}`] = key;
    });
  }
}

function parse(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Returns the counts of a server sorted by name, since their order has no meaning. */
export function sortedStats(server) {
  return Object.fromEntries(Object.entries(server.stats()).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const SLOT = /\{\{(\w+)\}\}/g;

/** What the server made and a later step needs: `{{session}}` and the like in a step stand for the latest of each. */
export class Values {
  #values = {};

  /** Takes what an answer holds: `{ headers, chunks }`, or frames as chunks. */
  take({ headers = {}, chunks = [] }) {
    const pairs = Array.isArray(headers) ? headers : Object.entries(headers);
    for (const [name, value] of pairs) if (name.toLowerCase() === "mcp-session-id") this.#values.session = value;
    for (const line of chunks.join("").split("\n")) this.#takeLine(line);
  }

  /**
   * A copy of a value with every slot filled; a slot without a value stays as it is.
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

  /** A value that is one slot keeps its type: ids are numbers too. */
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

/** The counts of a server, by name: their order says nothing. */
export function sortedStats(server) {
  return Object.fromEntries(Object.entries(server.stats()).sort(([a], [b]) => (a < b ? -1 : 1)));
}

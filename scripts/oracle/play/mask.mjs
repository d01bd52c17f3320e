const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g;
/** Sealed state, also in JSON inside of JSON. */
const STATE = /(requestState\\*":\\*")([A-Za-z0-9_\-.~+/=]{40,})/g;
const DATE = /\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/g;
/** File of a build or of these scripts, in a stack. */
const PLACE = /file:\/\/\/[^\s"'\\)]*\/(?:dist|scripts)\/[^\s"'\\)]*/g;

/** Replaces random values by stable placeholders. The same value gets the same placeholder. */
export class Mask {
  #names = new Map();
  #counts = new Map();
  #port;

  /** @param {number} [port] the port that the system chose */
  constructor(port) {
    this.#port = port;
  }

  /** @param {string} text */
  apply(text) {
    const portless = this.#port === undefined ? text : text.replaceAll(`:${this.#port}`, ":<port>");
    return portless
      .replace(STATE, (_all, before, state) => before + this.#name("state", state))
      .replace(UUID, (uuid) => this.#name("uuid", uuid))
      .replace(DATE, "<date>")
      .replace(PLACE, "<place>");
  }

  #name(kind, value) {
    let name = this.#names.get(value);
    if (name === undefined) {
      const count = (this.#counts.get(kind) ?? 0) + 1;
      this.#counts.set(kind, count);
      name = `<${kind}-${count}>`;
      this.#names.set(value, name);
    }
    return name;
  }
}

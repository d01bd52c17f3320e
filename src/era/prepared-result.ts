import type { JsonText } from "../protocol/jsonrpc/format.js";

/** A result that is the same for every client: each era writes it as text once. */
export class PreparedResult {
  readonly #texts = new Map<string, JsonText>();

  constructor(readonly result: { readonly [key: string]: unknown }) {}

  textFor(key: string, write: (result: { readonly [key: string]: unknown }) => JsonText): JsonText {
    let text = this.#texts.get(key);
    if (text === undefined) {
      text = write(this.result);
      this.#texts.set(key, text);
    }
    return text;
  }
}

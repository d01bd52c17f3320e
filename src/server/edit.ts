import type { Catalogue, Listed } from "./catalogue.js";

/** One definition of a server that is running. Every change is seen by the next list and call, and told to clients. */
export interface Editable<Changes> {
  readonly enabled: boolean;
  /** Shows it again, in its old place. */
  enable(): void;
  /** Hides it: it is not listed, and using it is an error as if it did not exist. */
  disable(): void;
  /** Puts the given members in the place of the present ones. */
  update(changes: Changes): void;
  /** Takes it away for good. Calls that run already come to their end. */
  remove(): void;
}

/** The way to one entry of a catalogue, also after its key has changed. */
export class CatalogueEntry<T extends Listed, Changes> implements Editable<Changes> {
  readonly #catalogue: Catalogue<T>;
  readonly #rebuild: (present: T, changes: Changes) => { readonly key: string; readonly item: T };
  readonly #announce: () => void;
  #key: string;

  constructor(
    catalogue: Catalogue<T>,
    key: string,
    rebuild: (present: T, changes: Changes) => { readonly key: string; readonly item: T },
    announce: () => void,
  ) {
    this.#catalogue = catalogue;
    this.#key = key;
    this.#rebuild = rebuild;
    this.#announce = announce;
  }

  get enabled(): boolean {
    return this.#catalogue.isEnabled(this.#key);
  }

  enable(): void {
    if (this.#catalogue.enable(this.#key, true)) this.#announce();
  }

  disable(): void {
    if (this.#catalogue.enable(this.#key, false)) this.#announce();
  }

  update(changes: Changes): void {
    const { key, item } = this.#rebuild(this.#catalogue.expect(this.#key), changes);
    this.#catalogue.replace(this.#key, key, item);
    this.#key = key;
    this.#announce();
  }

  remove(): void {
    if (this.#catalogue.remove(this.#key)) this.#announce();
  }
}

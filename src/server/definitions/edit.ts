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

/** The way to the entry of a catalogue that has this key now, also after the key has changed. */
export function editEntry<T extends Listed, Changes>(
  catalogue: Catalogue<T>,
  key: string,
  rebuild: (key: string, present: T, changes: Changes) => { readonly key: string; readonly item: T },
  announce: () => void,
): Editable<Changes> {
  catalogue.expect(key);
  let present = key;
  const announceIf = (changed: boolean) => {
    if (changed) announce();
  };
  return {
    get enabled() {
      return catalogue.isEnabled(present);
    },
    enable: () => announceIf(catalogue.enable(present, true)),
    disable: () => announceIf(catalogue.enable(present, false)),
    update(changes) {
      const { key: next, item } = rebuild(present, catalogue.expect(present), changes);
      catalogue.replace(present, next, item);
      present = next;
      announce();
    },
    remove: () => announceIf(catalogue.remove(present)),
  };
}

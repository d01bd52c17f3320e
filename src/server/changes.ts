import type { Change, ChangeBus } from "../store/change-bus.js";

/** How an author says that something changed. Registering and removing say so by themselves. */
export class Changes {
  readonly #bus: ChangeBus;

  constructor(bus: ChangeBus) {
    this.#bus = bus;
  }

  toolsChanged(): void {
    this.#bus.publish({ kind: "tools" });
  }

  promptsChanged(): void {
    this.#bus.publish({ kind: "prompts" });
  }

  resourcesChanged(): void {
    this.#bus.publish({ kind: "resources" });
  }

  resourceUpdated(uri: string): void {
    this.#bus.publish({ kind: "resource", uri });
  }

  publish(change: Change): void {
    this.#bus.publish(change);
  }
}

import type { Change, ChangeBus } from "../store/change-bus.js";
import type { Editable } from "./definitions/catalogue.js";
import type { PromptChanges, ResourceChanges, ToolChanges } from "./definitions/registry.js";

/** The way to each definition; one that does not exist is an error. */
export interface ServerEdit {
  tool(name: string): Editable<ToolChanges>;
  prompt(name: string): Editable<PromptChanges>;
  /** By URI or URI template. */
  resource(uri: string): Editable<ResourceChanges>;
}

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

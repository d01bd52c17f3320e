import type { Change, ChangeBus } from "../store/change-bus.js";
import type { Editable } from "./definitions/catalogue.js";
import type { PromptChanges, ResourceChanges, ToolChanges } from "./definitions/registry.js";

/** Gives access to existing definitions. Each function throws if the definition does not exist. */
export interface ServerEdit {
  tool(name: string): Editable<ToolChanges>;
  prompt(name: string): Editable<PromptChanges>;
  /** `uri` is a URI or URI template. */
  resource(uri: string): Editable<ResourceChanges>;
}

/** Announces changes to clients. Adding and removing definitions announces changes automatically. */
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

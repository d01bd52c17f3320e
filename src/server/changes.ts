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
  readonly #server: { readonly changes: ChangeBus };

  /** @internal */
  constructor(server: { readonly changes: ChangeBus }) {
    this.#server = server;
  }

  toolsChanged(): void {
    this.publish({ kind: "tools" });
  }

  promptsChanged(): void {
    this.publish({ kind: "prompts" });
  }

  resourcesChanged(): void {
    this.publish({ kind: "resources" });
  }

  resourceUpdated(uri: string): void {
    this.publish({ kind: "resource", uri });
  }

  publish(change: Change): void {
    this.#server.changes.publish(change);
  }
}

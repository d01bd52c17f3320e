import type { Change, ChangeBus } from "../store/change-bus.js";
import type { Editable } from "./definitions/catalogue.js";
import type { PromptChanges, ResourceChanges, ToolChanges } from "./definitions/registry.js";

/** Gives access to existing definitions. Each function throws if the definition does not exist. */
export interface ServerEdit {
  /** Returns the editor of a tool. */
  tool(name: string): Editable<ToolChanges>;
  /** Returns the editor of a prompt. */
  prompt(name: string): Editable<PromptChanges>;
  /** Returns the editor of a resource. `uri` is a URI or URI template. */
  resource(uri: string): Editable<ResourceChanges>;
}

/** Announces changes to clients. Adding and removing definitions announces changes automatically. */
export class Changes {
  readonly #server: { readonly changes: ChangeBus };

  /** @internal */
  constructor(server: { readonly changes: ChangeBus }) {
    this.#server = server;
  }

  /** Announces that the list of tools has changed. */
  toolsChanged(): void {
    this.publish({ kind: "tools" });
  }

  /** Announces that the list of prompts has changed. */
  promptsChanged(): void {
    this.publish({ kind: "prompts" });
  }

  /** Announces that the list of resources has changed. */
  resourcesChanged(): void {
    this.publish({ kind: "resources" });
  }

  /** Announces that the contents of a resource have changed, to the clients that subscribe to it. */
  resourceUpdated(uri: string): void {
    this.publish({ kind: "resource", uri });
  }

  /** Announces a change of any kind. */
  publish(change: Change): void {
    this.#server.changes.publish(change);
  }
}

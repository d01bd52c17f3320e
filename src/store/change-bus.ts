/** Change of a list or a resource that clients can subscribe to. */
export type Change =
  | { readonly kind: "tools" }
  | { readonly kind: "prompts" }
  | { readonly kind: "resources" }
  | { readonly kind: "resource"; readonly uri: string };

export type ChangeListener = (change: Change) => void;

/** Delivers changes from publishers to listeners. An implementation may connect several processes. */
export interface ChangeBus {
  publish(change: Change): void;
  /** Calls the listener for each published change. Returns a function that ends the subscription. */
  subscribe(listener: ChangeListener): () => void;
}

/**
 * Returns the change that an MCP notification announces. Returns undefined for other notifications, and for the update
 * of a resource without a URI.
 */
export function toChange(method: string, params: { readonly [key: string]: unknown } | undefined): Change | undefined {
  switch (method) {
    case "notifications/tools/list_changed":
      return { kind: "tools" };
    case "notifications/prompts/list_changed":
      return { kind: "prompts" };
    case "notifications/resources/list_changed":
      return { kind: "resources" };
    case "notifications/resources/updated":
      return typeof params?.uri === "string" ? { kind: "resource", uri: params.uri } : undefined;
    default:
      return undefined;
  }
}

/** Returns the MCP notification that announces a change. */
export function toNotification(change: Change): {
  readonly method: string;
  readonly params: { readonly uri?: string };
} {
  return change.kind === "resource"
    ? { method: "notifications/resources/updated", params: { uri: change.uri } }
    : { method: `notifications/${change.kind}/list_changed`, params: {} };
}

/** Changes that a client subscribes to. */
export interface ChangeFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

/** True if the filter includes the change. */
export function isWantedBy(filter: ChangeFilter, change: Change): boolean {
  switch (change.kind) {
    case "tools":
      return filter.toolsListChanged === true;
    case "prompts":
      return filter.promptsListChanged === true;
    case "resources":
      return filter.resourcesListChanged === true;
    case "resource":
      return filter.resourceSubscriptions?.includes(change.uri) === true;
  }
}

/**
 * Change bus in memory. Calls the listeners synchronously, in the order of subscription. The error of a listener is
 * passed to `onFailure` and affects neither the other listeners nor the publisher.
 */
export class MemoryChangeBus implements ChangeBus {
  readonly #listeners = new Set<ChangeListener>();
  readonly #onFailure: (error: unknown) => void;

  constructor(onFailure: (error: unknown) => void = () => {}) {
    this.#onFailure = onFailure;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  publish(change: Change): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch (error) {
        this.#onFailure(error);
      }
    }
  }

  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

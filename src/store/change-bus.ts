/** Something a client may want to hear about. */
export type Change =
  | { readonly kind: "tools" }
  | { readonly kind: "prompts" }
  | { readonly kind: "resources" }
  | { readonly kind: "resource"; readonly uri: string };

export type ChangeListener = (change: Change) => void;

/** Carries changes from whoever makes them to whoever listens; an adapter may span processes. */
export interface ChangeBus {
  publish(change: Change): void;
  /** Returns the way to stop listening. */
  subscribe(listener: ChangeListener): () => void;
}

/** The change that a notification of the protocol tells of. */
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

/** The notification that tells of a change. */
export function toNotification(change: Change): {
  readonly method: string;
  readonly params: { readonly uri?: string };
} {
  return change.kind === "resource"
    ? { method: "notifications/resources/updated", params: { uri: change.uri } }
    : { method: `notifications/${change.kind}/list_changed`, params: {} };
}

/** What somebody wants to hear about. */
export interface ChangeFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

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
 * A bus within this process. Listeners are called in turn, in the publisher's own turn; one that fails concerns neither
 * the others nor the publisher.
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

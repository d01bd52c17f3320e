import type { WatchEvents } from "../../era/client-era.js";
import { toError } from "../../protocol/errors.js";
import type { Known } from "../../protocol/known-options.js";
import type { Prompt, Resource, ServerCapabilities, SubscriptionFilter, Tool } from "../../protocol/types/index.js";
import type { Change } from "../../store/change-bus.js";
import { changesOf, ResilientSubscription, type SubscriptionRuntime } from "./resilient.js";

/** New list, or the error that occurred while reading it. With `refetch: false`, neither member is set. */
export type ListUpdate<T> =
  | { readonly items: readonly T[]; readonly error?: undefined }
  | { readonly error: Error; readonly items?: undefined }
  | { readonly items?: undefined; readonly error?: undefined };

/** Callback for changes of a list. */
export interface ListListener<T> {
  /** Called after the list has changed. Changes of one turn, or while the list is being read, are reported once. */
  readonly onChange: (update: ListUpdate<T>) => void;
  /**
   * Reads the list after each change.
   * @default true
   */
  readonly refetch?: boolean | undefined;
  /**
   * Time to wait for further changes, which are reported together.
   * @default 0
   */
  readonly debounceMs?: number | undefined;
}

/** Callbacks for changes of the server's lists. */
export interface ListListeners {
  readonly tools?: ListListener<Tool> | undefined;
  readonly prompts?: ListListener<Prompt> | undefined;
  readonly resources?: ListListener<Resource> | undefined;
}

const LISTENER: Known<ListListener<unknown>> = { onChange: "function", refetch: "boolean", debounceMs: "ms" };
export const LIST_LISTENERS: Known<ListListeners> = { tools: LISTENER, prompts: LISTENER, resources: LISTENER };

type Kind = keyof ListListeners;

const KINDS: readonly Kind[] = ["tools", "prompts", "resources"];

/** Parts of the client that the refresh of lists uses. */
export interface RefreshRuntime extends SubscriptionRuntime {
  readonly capabilities: ServerCapabilities;
  /** Reads a whole list from the server. */
  read(kind: Kind): Promise<readonly unknown[]>;
  /** Subscribes for the first time, within the limits of connecting. */
  begin: SubscriptionRuntime["listen"];
  missed(changes: readonly Change[]): void;
  onProblem(problem: Error): void;
}

/**
 * Subscribes to the list changes that have a listener and that the server announces. Does nothing if there are none.
 */
export async function refreshLists(listeners: ListListeners, runtime: RefreshRuntime): Promise<void> {
  const kinds = KINDS.filter(
    (kind) => listeners[kind] !== undefined && runtime.capabilities[kind]?.listChanged === true,
  );
  if (kinds.length === 0) return;
  const filter = Object.fromEntries(kinds.map((kind) => [`${kind}ListChanged`, true]));
  await ResilientSubscription.open(runtime, filter, new Refresher(listeners, runtime), {}, runtime.begin, true);
}

class Refresher implements WatchEvents {
  readonly #listeners: ListListeners;
  readonly #runtime: RefreshRuntime;
  /** Kinds that have to be read. */
  readonly #due = new Set<Kind>();
  readonly #running = new Set<Kind>();

  constructor(listeners: ListListeners, runtime: RefreshRuntime) {
    this.#listeners = listeners;
    this.#runtime = runtime;
  }

  onChange({ kind }: Change): void {
    if (kind === "resource" || this.#due.has(kind)) return;
    this.#due.add(kind);
    if (!this.#running.has(kind)) this.#schedule(kind);
  }

  /** Treats changes that may have been missed as changes. */
  onMissed(honoured: SubscriptionFilter): void {
    const missed = changesOf(honoured);
    this.#runtime.missed(missed);
    for (const change of missed) this.onChange(change);
  }

  onEnd(how: "graceful" | "lost", reason: Error | undefined): void {
    if (how === "lost")
      this.#runtime.onProblem(new Error("The subscription to list changes was lost; connect again", { cause: reason }));
  }

  #schedule(kind: Kind): void {
    this.#runtime.clock.schedule(() => void this.#refresh(kind), this.#listeners[kind]?.debounceMs ?? 0);
  }

  /** Reads one list at a time, so that an older list is never reported after a newer one. */
  async #refresh(kind: Kind): Promise<void> {
    this.#due.delete(kind);
    this.#running.add(kind);
    await this.#tell(kind);
    this.#running.delete(kind);
    if (this.#due.has(kind)) this.#schedule(kind);
  }

  async #tell(kind: Kind): Promise<void> {
    const listener = this.#listeners[kind] as ListListener<unknown>;
    const update = listener.refetch === false ? {} : await this.#read(kind);
    try {
      listener.onChange(update);
    } catch (error) {
      this.#runtime.onProblem(toError(error));
    }
  }

  async #read(kind: Kind): Promise<ListUpdate<unknown>> {
    try {
      return { items: await this.#runtime.read(kind) };
    } catch (error) {
      return { error: toError(error) };
    }
  }
}

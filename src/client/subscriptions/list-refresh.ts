import type { WatchEvents } from "../../era/client-era.js";
import { toError } from "../../protocol/errors.js";
import type { Prompt, Resource, ServerCapabilities, SubscriptionFilter, Tool } from "../../protocol/types/index.js";
import type { Change } from "../../store/change-bus.js";
import { changesOf, ResilientSubscription, type SubscriptionRuntime } from "./resilient.js";

/** The list as it is now, why it could not be read, or, where it is not to be read, nothing. */
export type ListUpdate<T> =
  | { readonly items: readonly T[]; readonly error?: undefined }
  | { readonly error: Error; readonly items?: undefined }
  | { readonly items?: undefined; readonly error?: undefined };

export interface ListListener<T> {
  /** Called after the list has changed. Changes of one turn, or that come while the list is being read, count once. */
  readonly onChange: (update: ListUpdate<T>) => void;
  /** `false`: only say that the list changed. */
  readonly refetch?: boolean;
  /** How long after a change others are waited for, which then count as one with it. 0 unless given. */
  readonly debounceMs?: number;
}

/** What to do when a list of the server changes. */
export interface ListListeners {
  readonly tools?: ListListener<Tool>;
  readonly prompts?: ListListener<Prompt>;
  readonly resources?: ListListener<Resource>;
}

type Kind = keyof ListListeners;

const KINDS: readonly Kind[] = ["tools", "prompts", "resources"];

export interface RefreshRuntime extends SubscriptionRuntime {
  readonly capabilities: ServerCapabilities;
  /** Reads a whole list anew. */
  read(kind: Kind): Promise<readonly unknown[]>;
  /** Listens for the first time: within the limits of connecting. */
  begin: SubscriptionRuntime["listen"];
  missed(changes: readonly Change[]): void;
  onProblem(problem: Error): void;
}

/** Starts listening for the changes that are wanted and that the server announces; for nothing where there are none. */
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
  /** Kinds that a refresh is due for. */
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

  /** What may have changed unheard is read as if it had. */
  onMissed(honoured: SubscriptionFilter): void {
    const missed = changesOf(honoured);
    this.#runtime.missed(missed);
    for (const change of missed) this.onChange(change);
  }

  onEnd(how: "graceful" | "lost", reason: Error | undefined): void {
    if (how === "lost")
      this.#runtime.onProblem(new Error("changes of lists are no longer heard of", { cause: reason }));
  }

  #schedule(kind: Kind): void {
    this.#runtime.clock.schedule(() => void this.#refresh(kind), this.#listeners[kind]?.debounceMs ?? 0);
  }

  /** One at a time, so that no list is told after a newer one. */
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

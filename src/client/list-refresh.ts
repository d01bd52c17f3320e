import type { Clock } from "../call/clock.js";
import type { Subscription, WatchEvents } from "../era/client-era.js";
import { toError } from "../schema/errors.js";
import type { Prompt, Resource, ServerCapabilities, SubscriptionFilter, Tool } from "../schema/types.js";
import type { Change } from "../store/change-bus.js";

/** The list as it is now, why it could not be read, or, where it is not to be read, nothing. */
export type ListUpdate<T> =
  | { readonly items: readonly T[]; readonly error?: undefined }
  | { readonly error: Error; readonly items?: undefined }
  | { readonly items?: undefined; readonly error?: undefined };

export interface ListListener<T> {
  /** Called after the list has changed; changes of one turn count once. */
  readonly onChange: (update: ListUpdate<T>) => void;
  /** `false`: only say that the list changed. */
  readonly refetch?: boolean;
}

/** What to do when a list of the server changes. */
export interface ListListeners {
  readonly tools?: ListListener<Tool>;
  readonly prompts?: ListListener<Prompt>;
  readonly resources?: ListListener<Resource>;
}

type Kind = keyof ListListeners;

const KINDS: readonly Kind[] = ["tools", "prompts", "resources"];

export interface RefreshHost {
  readonly clock: Clock;
  readonly capabilities: ServerCapabilities;
  /** Reads a whole list anew. */
  read(kind: Kind): Promise<readonly unknown[]>;
  watch(filter: SubscriptionFilter, events: WatchEvents): Promise<Subscription>;
  onProblem(problem: Error): void;
}

/** Starts listening for the changes that are wanted and that the server announces; for nothing where there are none. */
export async function refreshLists(listeners: ListListeners, host: RefreshHost): Promise<void> {
  const kinds = KINDS.filter((kind) => listeners[kind] !== undefined && host.capabilities[kind]?.listChanged === true);
  if (kinds.length === 0) return;
  const filter = Object.fromEntries(kinds.map((kind) => [`${kind}ListChanged`, true]));
  await host.watch(filter, new Refresher(listeners, host));
}

class Refresher implements WatchEvents {
  readonly #listeners: ListListeners;
  readonly #host: RefreshHost;
  readonly #waiting = new Set<Kind>();

  constructor(listeners: ListListeners, host: RefreshHost) {
    this.#listeners = listeners;
    this.#host = host;
  }

  onChange({ kind }: Change): void {
    if (kind === "resource" || this.#waiting.has(kind)) return;
    this.#waiting.add(kind);
    this.#host.clock.schedule(() => {
      this.#waiting.delete(kind);
      void this.#refresh(kind);
    }, 0);
  }

  onEnd(how: "graceful" | "lost", reason: Error | undefined): void {
    if (how === "lost") this.#host.onProblem(new Error("changes of lists are no longer heard of", { cause: reason }));
  }

  async #refresh(kind: Kind): Promise<void> {
    const listener = this.#listeners[kind] as ListListener<unknown>;
    const update = listener.refetch === false ? {} : await this.#read(kind);
    try {
      listener.onChange(update);
    } catch (error) {
      this.#host.onProblem(toError(error));
    }
  }

  async #read(kind: Kind): Promise<ListUpdate<unknown>> {
    try {
      return { items: await this.#host.read(kind) };
    } catch (error) {
      return { error: toError(error) };
    }
  }
}

import { unref } from "../call/clock.js";
import type { MaybePromise } from "../call/maybe-promise.js";
import { DefinitionError } from "../protocol/errors.js";
import { dropOldest } from "../protocol/oldest.js";
import type { Bus, ChangingServer, LocalChanges, SharedChange } from "./cluster.js";
import { GapNotices } from "./gap-notices.js";

type Listener = (change: SharedChange) => void;

const TOPIC = "changes";
/** Time after which a subscription or a publication that failed is tried again. */
const REJOIN_MS = 1_000;
/** Maximum number of changes that wait until they can be published. The oldest are dropped first. */
const MAX_UNPUBLISHED = 1_000;
const LISTS = ["tools", "prompts", "resources"] as const;

/**
 * Connects the changes of a server with the servers of the other processes. A change that is published in one process
 * reaches the listeners of all. After a gap, every list and every watched resource counts as changed. The listeners are
 * told so over some seconds.
 */
export class ClusterChanges implements LocalChanges {
  readonly #cluster: { readonly bus: Bus };
  readonly #local: LocalChanges;
  readonly #server: ChangingServer;
  readonly #notices: GapNotices<Listener>;
  /** Changes that could not be published, as texts. */
  readonly #unpublished = new Set<string>();
  #stop: (() => MaybePromise<void>) | undefined;
  #isJoining = false;
  #closed = false;

  constructor(cluster: { readonly bus: Bus }, local: LocalChanges, server: ChangingServer) {
    const { stateKeys, stateCodec } = server.options;
    if ((stateKeys ?? stateCodec) === undefined)
      throw new DefinitionError("McpServer cluster: set stateKeys, so that every process can open the state of a call");
    this.#cluster = cluster;
    this.#local = local;
    this.#server = server;
    this.#notices = new GapNotices({ clock: server.clock, tell: (listener) => this.#tellAll(listener) });
    this.#join();
    const forgetGaps = cluster.bus.onGap(() => this.#onGap());
    server.onClosing(() => {
      this.#closed = true;
      forgetGaps();
      this.#notices.close();
      this.#unpublished.clear();
      this.#leave();
    });
  }

  /**
   * Publishes a change. If the engine is away, the listeners of this process are called at once. The other processes may
   * have reached it again, and told their listeners of the gap, before this one does: they are told of the change later.
   */
  publish(change: SharedChange): void {
    const text = JSON.stringify(change);
    this.#attempt(
      () => this.#cluster.bus.publish(TOPIC, text),
      () => {
        this.#local.publish(change);
        this.#publishLater(text);
      },
    );
  }

  #publishLater(text: string): void {
    if (this.#closed) return;
    if (this.#unpublished.size === 0) unref(this.#server.clock.schedule(() => this.#publishAgain(), REJOIN_MS));
    this.#unpublished.add(text);
    dropOldest(this.#unpublished, MAX_UNPUBLISHED);
  }

  /** Publishes the changes that wait. If that fails, it is tried again a moment later. */
  #publishAgain(): void {
    const texts = [...this.#unpublished];
    this.#unpublished.clear();
    this.#attempt(
      async () => {
        while (texts[0] !== undefined && !this.#closed) {
          await this.#cluster.bus.publish(TOPIC, texts[0]);
          texts.shift();
        }
      },
      () => {
        for (const text of texts) this.#publishLater(text);
      },
    );
  }

  subscribe(listener: Listener): () => void {
    const [leave, forget] = [this.#local.subscribe(listener), this.#notices.add(listener)];
    return () => {
      forget();
      leave();
    };
  }

  /** Subscribes to the changes of all processes. If that fails, it is tried again a moment later, as after a gap. */
  #join(isLate = false): void {
    if (this.#isJoining || this.#stop !== undefined || this.#closed) return;
    this.#isJoining = true;
    this.#attempt(
      async () => {
        this.#stop = await this.#cluster.bus.subscribe(TOPIC, (text) => this.#receive(text));
        this.#isJoining = false;
        if (this.#closed) this.#leave();
        else if (isLate) this.#notices.onGap();
      },
      () => {
        this.#isJoining = false;
        unref(this.#server.clock.schedule(() => this.#join(true), REJOIN_MS));
      },
    );
  }

  #leave(): void {
    const stop = this.#stop;
    this.#stop = undefined;
    if (stop !== undefined) this.#attempt(stop, () => {});
  }

  #receive(text: string): void {
    try {
      this.#local.publish(JSON.parse(text) as SharedChange);
    } catch (error) {
      this.#report(error);
    }
  }

  #onGap(): void {
    this.#join();
    this.#notices.onGap();
  }

  /** Tells a listener that every list and every watched resource may have changed. */
  #tellAll(listener: Listener): void {
    try {
      for (const kind of LISTS) listener({ kind });
      for (const uri of [...this.#server.watched.keys()]) listener({ kind: "resource", uri });
    } catch (error) {
      this.#report(error);
    }
  }

  #attempt(work: () => MaybePromise<unknown>, otherwise: () => void): void {
    const fail = (error: unknown) => {
      this.#report(error);
      otherwise();
    };
    try {
      const result = work();
      if (result instanceof Promise) result.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #report(error: unknown): void {
    this.#server.report(error, { where: "cluster" });
  }
}

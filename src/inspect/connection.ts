import type { Client } from "../client/client.js";
import type { ClientOptions } from "../client/options.js";
import type { RecordedWire } from "../recording/events.js";
import type { Recording } from "../recording/recording.js";
import { type DialledTarget, dial } from "./dial.js";
import { toFailure, VerbError } from "./failure.js";
import { ConnectionFaults } from "./faults.js";
import { isNowhere } from "./nowhere.js";
import type { ConnectionState, Failure } from "./protocol.js";

/** Server that an inspector connects to. */
export interface InspectTarget {
  /** As the user named it. */
  readonly label: string;
  readonly wire: RecordedWire;
  /** Address as it may be shown. */
  readonly url?: string | undefined;
  /** Targets to try in order. There are several for a URL without a path. */
  readonly targets: readonly DialledTarget[];
  readonly options: ClientOptions;
}

/** What a connection tells and needs. */
export interface ConnectionEnds {
  readonly recording: Recording;
  /** Returns the number of the connection that the recording opened last. */
  readonly opened: () => number | undefined;
  readonly onChange: () => void;
}

/** Connection of the inspector to a server, from the wish for it until after its end. */
export class InspectedConnection {
  readonly faults: ConnectionFaults;
  readonly number: number;
  readonly server: number;
  /** Resolves when it is open or has failed. */
  readonly ready: Promise<void>;
  readonly #ends: ConnectionEnds;
  readonly #end = new AbortController();
  #status: ConnectionState["status"] = "connecting";
  #client: Client | undefined;
  #about: Partial<ConnectionState> = {};
  #error: Failure | undefined;
  #c: number | undefined;

  constructor(number: number, server: number, target: InspectTarget, options: ClientOptions, ends: ConnectionEnds) {
    this.number = number;
    this.server = server;
    this.#ends = ends;
    this.faults = new ConnectionFaults(
      (event) => ends.recording.add(event),
      () => this.#c,
      () => {
        this.#c = ends.opened();
      },
    );
    this.ready = this.#open(target, options);
  }

  get state(): ConnectionState {
    return {
      connection: this.number,
      server: this.server,
      status: this.#status,
      ...(this.#c !== undefined && { c: this.#c }),
      ...this.#about,
      ...(this.#error !== undefined && { error: this.#error }),
      faults: this.faults.plan,
    };
  }

  get isOver(): boolean {
    return this.#status === "closed" || this.#status === "failed";
  }

  /** True if it failed since the server requires a login. */
  get needsLogin(): boolean {
    return this.#error?.status === 401 || this.#error?.code === "auth_error";
  }

  /** Returns the client once it is connected. Rejects if the connection failed or is closed. */
  async client(): Promise<Client> {
    await this.ready;
    if (this.#client !== undefined && this.#status === "open") return this.#client;
    const why = this.#error === undefined ? "" : `: ${this.#error.message}`;
    throw new VerbError("not_available", `connection ${this.number} is ${this.#status}${why}`);
  }

  async close(): Promise<void> {
    this.#end.abort(new VerbError("cancelled", "the connection was closed"));
    await this.ready;
    this.#leave("closed");
    await this.#client?.close();
  }

  async #open(target: InspectTarget, options: ClientOptions): Promise<void> {
    const all: ClientOptions = {
      ...target.options,
      ...options,
      signal: this.#end.signal,
      onClose: (reason) => {
        if (reason !== undefined) this.#error = toFailure(reason);
        this.#leave("closed");
      },
    };
    try {
      const client = await this.#dial(target.targets, all);
      this.#client = client;
      const { info, capabilities, instructions } = client.server;
      this.#about = { era: client.era, version: client.version, info, capabilities, instructions };
      this.#status = "open";
    } catch (error) {
      this.#error = toFailure(error);
      this.#status = this.#end.signal.aborted ? "closed" : "failed";
    }
    this.#ends.onChange();
  }

  /** Connects to the first target that answers. */
  async #dial(targets: readonly DialledTarget[], options: ClientOptions): Promise<Client> {
    let first: unknown;
    for (const target of targets) {
      try {
        return await dial(this.#ends.recording, target, options, this.faults);
      } catch (error) {
        first ??= error;
        if (this.#end.signal.aborted || !isNowhere(error)) break;
      }
    }
    throw first;
  }

  #leave(status: "closed"): void {
    if (this.#status !== "open") return;
    this.#status = status;
    this.#ends.onChange();
  }
}

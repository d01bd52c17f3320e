import type { AbortSwitch } from "../call/abort-switch.js";
import type { Clock } from "../call/clock.js";
import type { CallLifetime } from "../call/lifetime.js";
import type {
  ClaimedResults,
  ClientResult,
  Connection,
  RequestReceiver,
  ServerDescription,
  Subscription,
  WatchEvents,
} from "../era/client-era.js";
import type { ClientLimits } from "../era/client-limits.js";
import { DefinitionError, ProtocolError, RpcError } from "../protocol/errors.js";
import { METHOD_NOT_FOUND } from "../protocol/jsonrpc/errors.js";
import type { Params, RpcNotification } from "../protocol/jsonrpc/message.js";
import { assertExtensionIds } from "../protocol/meta.js";
import type { ClientCapabilities, ServerCapabilities, SubscriptionFilter } from "../protocol/types/index.js";
import { parseStandard } from "../schema/standard-schema.js";
import type {
  CallOptions,
  ClientCall,
  ClientExtension,
  ClientInterceptor,
  ClientOptions,
  ExtensionContext,
} from "./options.js";

/** Parts of a client that extensions of this package use. */
export interface ExtensionClient {
  readonly options: ClientOptions;
  readonly clock: Clock;
  readonly limits: ClientLimits;
  readonly calls: {
    connected(): Connection;
    call<T>(call: ClientCall, read: (result: ClientResult) => T): Promise<T>;
    /** Runs work that has no request of its own in progress. The end of the connection aborts it. */
    runOffWire<T>(label: string, options: CallOptions, work: (lifetime: CallLifetime) => Promise<T>): Promise<T>;
  };
  /** Number of input requests that can be handled in addition to those in progress. */
  readonly freeQuestions: number;
  /** Handles an input request of the server in the same way as one of a result. */
  answerInput(method: string, params: Params | undefined, end: AbortSwitch): Promise<ClientResult>;
  listen(filter: SubscriptionFilter, events: WatchEvents, options?: CallOptions): Promise<Subscription>;
  /** Reports a failure that no caller waits for. */
  onProblem(problem: unknown): void;
}

/** Extension of this package that intercepts calls. Its interceptor runs after those of the options. */
export interface InterceptingExtension extends ClientExtension {
  readonly intercept: (client: ExtensionClient) => ClientInterceptor;
  readonly receiver?: RequestReceiver | undefined;
}

type Resolve = (result: ClientResult, ctx: ExtensionContext) => ClientResult | Promise<ClientResult>;

/** Extensions of a client, with the owner of each result type, method and notification. */
export class Extensions implements ClaimedResults {
  readonly #enabled: readonly ClientExtension[];
  readonly #results = new Map<
    string,
    { readonly owner: string; readonly methods: readonly string[]; readonly resolve: Resolve }
  >();
  readonly #methods = new Map<string, string>();
  readonly #notifications = new Map<string, (params: Params | undefined) => void | Promise<void>>();
  readonly #maxWaiting: number;
  #delivered: Promise<void> = Promise.resolve();
  /** Number of notifications that are not handled yet. */
  #waiting = 0;

  /**
   * Throws if an extension conflicts with the protocol or with another extension. `isSpecified` is true for methods of
   * the protocol.
   */
  constructor(options: ClientOptions, maxWaiting: number, isSpecified: (method: string) => boolean) {
    this.#maxWaiting = maxWaiting;
    this.#enabled = options.extensions ?? [];
    const owners = new Map<string, string>([
      ["result type complete", "the protocol"],
      ["result type input_required", "the protocol"],
    ]);
    const claim = (what: string, owner: string) => {
      const other = owners.get(what);
      if (other !== undefined) throw conflict(what, owner, other);
      owners.set(what, owner);
    };
    for (const id of Object.keys(options.capabilities?.extensions ?? {})) claim(id, "the option capabilities");
    for (const { id, results = {}, methods = [], notifications = {} } of this.#enabled) {
      assertExtensionIds("extensions", { [id]: {} });
      claim(id, "the option extensions");
      for (const [type, { method, resolve }] of Object.entries(results)) {
        claim(`result type ${type}`, id);
        this.#results.set(type, { owner: id, methods: [method].flat(), resolve });
      }
      for (const method of [...methods, ...Object.keys(notifications)]) {
        if (isSpecified(method)) throw conflict(`method ${method}`, id, "the protocol");
        claim(`method ${method}`, id);
      }
      for (const method of methods) this.#methods.set(method, id);
      for (const [method, handler] of Object.entries(notifications)) this.#notifications.set(method, handler);
    }
  }

  /** Returns the member of params that names the target of an extension's request. */
  nameFrom(method: string): string | undefined {
    return this.#enabled.find(({ names }) => names && Object.hasOwn(names, method))?.names?.[method];
  }

  get receiver(): RequestReceiver | undefined {
    return (this.#enabled as readonly Partial<InterceptingExtension>[]).find((one) => one.receiver)?.receiver;
  }

  /** Creates the interceptors of the extensions for a client. */
  interceptors(client: ExtensionClient): readonly ClientInterceptor[] {
    return this.#enabled.flatMap((one) => (one as Partial<InterceptingExtension>).intercept?.(client) ?? []);
  }

  accepts(type: unknown, method: string, declared: ClientCapabilities): boolean {
    const claimed = this.#results.get(type as string);
    return claimed?.methods.includes(method) === true && declares(declared, claimed.owner);
  }

  /** Removes extensions that need result types, for protocol versions without them. */
  withoutResultTypes(capabilities: ClientCapabilities): ClientCapabilities {
    const { extensions, ...others } = capabilities;
    if (extensions === undefined || this.#results.size === 0) return capabilities;
    const owners = new Set([...this.#results.values()].map(({ owner }) => owner));
    const left = Object.entries(extensions).filter(([id]) => !owners.has(id));
    return left.length === 0 ? others : { ...others, extensions: Object.fromEntries(left) };
  }

  /** Returns the result, or the result that the owner of its type converts it to. */
  async resolve(
    { method, params, options }: ClientCall,
    result: ClientResult,
    request: ExtensionContext["request"],
  ): Promise<ClientResult> {
    const claimed = this.#results.get(result.resultType as string);
    if (claimed === undefined) return result;
    return claimed.resolve(result, { method, params, signal: options.signal, request });
  }

  /**
   * Creates the error for a method whose extension the server did not announce. Returns undefined if the server's
   * capabilities are unknown.
   */
  refusalOf(method: string, { heard, capabilities }: ServerDescription): RpcError | undefined {
    const owner = heard ? this.#methods.get(method) : undefined;
    if (owner === undefined || this.#isSupported(owner, capabilities)) return undefined;
    const message = `${method} was not sent: the server does not support the extension ${owner}`;
    return new RpcError(METHOD_NOT_FOUND, message, { method, capability: `extensions.${owner}` }, { local: true });
  }

  #isSupported(id: string, announced: ServerCapabilities): boolean {
    if (!declares(announced, id)) return false;
    const schema = this.#enabled.find((one) => one.id === id)?.serverSettings;
    if (schema === undefined) return true;
    const parsed = parseStandard(schema, announced.extensions?.[id]);
    if (parsed instanceof Promise)
      throw new DefinitionError(`extensions: serverSettings of ${id} must validate synchronously`);
    return parsed.ok;
  }

  /** Passes a notification to its handler after all earlier ones. Returns false if it has no handler. */
  deliver({ method, params }: RpcNotification, onError: (error: unknown) => void): boolean {
    const handler = this.#notifications.get(method);
    if (handler === undefined) return false;
    if (this.#waiting >= this.#maxWaiting) {
      const most = this.#maxWaiting;
      onError(
        new ProtocolError(
          `${method} was dropped: ${most} notifications wait for their handlers (limits.maxWaitingNotifications)`,
        ),
      );
      return true;
    }
    this.#waiting++;
    this.#delivered = this.#delivered
      .then(() => handler(params))
      .catch(onError)
      .finally(() => this.#waiting--);
    return true;
  }
}

/** True if the extension is declared. Its settings must be an object, which may be empty. */
function declares({ extensions }: ClientCapabilities | ServerCapabilities, id: string): boolean {
  const settings: unknown =
    typeof extensions === "object" && extensions !== null && Object.hasOwn(extensions, id) ? extensions[id] : undefined;
  return typeof settings === "object" && settings !== null && !Array.isArray(settings);
}

function conflict(what: string, owner: string, other: string): DefinitionError {
  const problem = owner === other ? "is given twice" : `is claimed by ${owner} and by ${other}`;
  return new DefinitionError(`extensions: ${what} ${problem}`);
}

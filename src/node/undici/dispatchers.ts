import { unref } from "../../call/clock.js";
import { readProxies } from "../outgoing/proxies.js";
import type { DirectReply } from "./reply.js";

/** Dispatcher that carries the requests of Node's `fetch`. Applications replace it globally, for a proxy or a test. */
export interface Dispatcher {
  dispatch(options: Readonly<Record<string, unknown>>, handler: DirectReply): unknown;
}

/**
 * Keys under which Node stores the dispatcher. The `.2` key belongs to undici 8, where the `.1` key is for older
 * handlers only.
 */
const DISPATCHERS = [Symbol.for("undici.globalDispatcher.2"), Symbol.for("undici.globalDispatcher.1")] as const;
/** Text in the source of Node's own `fetch` that identifies it. */
const NODES_OWN = "internal/deps/undici";

let lastFetch: unknown;
let lastIsOwn = false;

/**
 * Returns the dispatcher of Node's own `fetch`. Undefined if the application has replaced `fetch`, or if this Node keeps its
 * dispatcher elsewhere.
 */
export function nodesDispatcher(): Dispatcher | undefined {
  return isFetchOwn() ? currentDispatcher() : undefined;
}

function isFetchOwn(): boolean {
  const { fetch } = globalThis;
  if (fetch !== lastFetch) {
    lastFetch = fetch;
    lastIsOwn = Function.prototype.toString.call(fetch).includes(NODES_OWN);
  }
  return lastIsOwn;
}

function currentDispatcher(): Dispatcher | undefined {
  const holder = globalThis as { [key: symbol]: Dispatcher | undefined };
  const [newer, older] = DISPATCHERS;
  // Node creates the dispatcher when any part of `fetch` is first accessed.
  if (holder[older] === undefined) void globalThis.Response;
  return holder[newer] ?? holder[older];
}

/** Proxies of the environment. They are read once, since each call needs them. */
const environmentProxy = readProxies(process.env);

function isUsual(dispatcher: Dispatcher): boolean {
  return dispatcher.constructor.name === "Agent";
}

/**
 * True if the application has replaced `fetch`, or its dispatcher by one of another kind, so that it decides how requests
 * are sent. A Node that keeps its dispatcher elsewhere has replaced nothing.
 */
export function isReplaced(dispatcher: Dispatcher | undefined): boolean {
  return dispatcher === undefined ? !isFetchOwn() : !isUsual(dispatcher);
}

/** Returns the proxy that the environment names for a URL. Undefined if a replaced `fetch` or dispatcher decides. */
export function proxyFor(url: URL, dispatcher: Dispatcher | undefined): string | undefined {
  return environmentProxy === undefined || isReplaced(dispatcher) ? undefined : environmentProxy(url);
}

/** Dispatcher with one connection. */
interface Line extends Dispatcher {
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/** Time for which connections beyond the maximum are kept, since the next calls may need them. */
const SPARE_MS = 1_000;

/**
 * Connections of a client. Node's own dispatcher keeps each idle connection for as long as the server allows, which may
 * be minutes, and never closes those of a client that has ended. So each connection has a dispatcher of the same class.
 * The one that was used last is taken first.
 */
export class Connections {
  readonly #maxIdle: number;
  readonly #idle: Line[] = [];
  #isKept = true;
  /** Minimum number of idle connections since the last sweep. They were not needed. */
  #leastIdle = 0;
  #sweeper: ReturnType<typeof setTimeout> | undefined;

  constructor(maxIdle: number) {
    this.#maxIdle = maxIdle;
  }

  /** Sets whether idle connections are kept. Without that, they close now, and others as soon as they are idle. */
  keepIdle(isKept: boolean): void {
    this.#isKept = isKept;
    if (!isKept) this.#keep(0);
  }

  /** Takes a connection of the same kind as those of the dispatcher. Undefined if only the dispatcher itself will do. */
  take(dispatcher: Dispatcher): Line | undefined {
    if (!isNodesOwn(dispatcher)) return undefined;
    const idle = this.#idle.pop();
    this.#leastIdle = Math.min(this.#leastIdle, this.#idle.length);
    return idle ?? new (dispatcher.constructor as new (options: object) => Line)({ connections: 1 });
  }

  /** Takes a connection back. One with a broken request is not used again. */
  give(line: Line, isUsable: boolean): void {
    if (!isUsable) return end(line.destroy());
    if (!this.#isKept) return end(line.close());
    this.#idle.push(line);
    if (this.#sweeper === undefined && this.#idle.length > this.#maxIdle) this.#watch();
  }

  #watch(): void {
    this.#leastIdle = this.#idle.length;
    this.#sweeper = setTimeout(() => {
      this.#sweeper = undefined;
      this.#keep(Math.max(this.#maxIdle, this.#idle.length - this.#leastIdle));
      if (this.#idle.length > this.#maxIdle) this.#watch();
    }, SPARE_MS);
    unref(this.#sweeper);
  }

  /** Closes the idle connections beyond a number, those first that were unused longest. */
  #keep(most: number): void {
    for (const line of this.#idle.splice(0, Math.max(0, this.#idle.length - most))) end(line.close());
  }
}

function end(closing: Promise<void>): void {
  closing.catch(() => {});
}

let lastDispatcher: Dispatcher | undefined;
let isLastOwn = false;

/** True for the dispatcher that Node has created, with the default options. Its class is in a file of Node. */
function isNodesOwn(dispatcher: Dispatcher): boolean {
  if (dispatcher !== lastDispatcher) {
    lastDispatcher = dispatcher;
    isLastOwn = isUsual(dispatcher) && isClassOfNode(dispatcher);
  }
  return isLastOwn;
}

function isClassOfNode(dispatcher: Dispatcher): boolean {
  const Agent = dispatcher.constructor as new (options: object) => Dispatcher;
  // A composed dispatcher has another method.
  if (dispatcher.dispatch !== Agent.prototype.dispatch) return false;
  try {
    new Agent({ factory: null });
  } catch (error) {
    return String((error as Error).stack).includes(NODES_OWN);
  }
  return false;
}

import type { TestContext } from "node:test";
import { RetryWaits } from "#src/call/backoff.js";
import { type Clock, systemClock } from "#src/call/clock.js";
import { CallLifetime, type LifetimeLimits } from "#src/call/lifetime.js";
import { CLIENT_LIMITS, type ClientLimits } from "#src/era/client-limits.js";
import { type LegacyHttpOptions, LegacyHttpTransport } from "#src/era/legacy/client/http.js";
import { ModernHttpTransport } from "#src/era/modern/client/http.js";
import type { ClientTransport, HttpTarget, TransportReceiver, TransportRequest } from "#src/era/transport.js";
import { type Fetch, sendBy } from "#src/http/client/send.js";
import { createDirectSend } from "#src/node/undici/send.js";
import type { RequestId, RpcNotification, RpcRequest, RpcResponse } from "#src/protocol/jsonrpc/message.js";
import { HttpScript } from "./http-script.js";

/** Keeps what a link tells its owner. */
export class Recorder implements TransportReceiver {
  readonly requests: RpcRequest[] = [];
  readonly notifications: [RpcNotification, RequestId | undefined][] = [];
  readonly problems: Error[] = [];
  closes = 0;
  readonly #watchers: { fits: () => boolean; resolve: () => void }[] = [];

  onRequest(request: RpcRequest): void {
    this.requests.push(request);
    this.#changed();
  }

  onNotification(notification: RpcNotification, call?: RequestId): void {
    this.notifications.push([notification, call]);
    this.#changed();
  }

  onProblem(problem: Error): void {
    this.problems.push(problem);
    this.#changed();
  }

  onClose(): void {
    this.closes++;
  }

  /** Resolves as soon as the condition holds; it is looked at after each event. */
  until(fits: () => boolean): Promise<void> {
    return fits() ? Promise.resolve() : new Promise((resolve) => this.#watchers.push({ fits, resolve }));
  }

  #changed(): void {
    for (const watcher of this.#watchers.splice(0)) {
      if (watcher.fits()) watcher.resolve();
      else this.#watchers.push(watcher);
    }
  }
}

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";

/** Where a link goes, and how, if not as on node. */
export type TargetOptions = Partial<Omit<HttpTarget, "limits">> & {
  readonly fetch?: Fetch;
  readonly limits?: Partial<ClientLimits>;
};

export function createTarget(url: URL, { fetch, limits, ...more }: TargetOptions = {}): HttpTarget {
  return {
    url,
    send: fetch === undefined ? createDirectSend(8) : sendBy(fetch),
    headers: {},
    clock: systemClock,
    waits: new RetryWaits(),
    paramHeaders: () => undefined,
    limits: { ...CLIENT_LIMITS, maxMessageBytes: 1 << 20, ...limits },
    ...more,
  };
}

export interface World<L extends ClientTransport> {
  readonly script: HttpScript;
  readonly link: L;
  readonly told: Recorder;
  /** Starts a call; its scope ends as told. */
  call(request?: Partial<TransportRequest>, limits?: LifetimeLimits, clock?: Clock): Promise<RpcResponse>;
}

export async function modernWorld(t: TestContext, more: TargetOptions = {}): Promise<World<ModernHttpTransport>> {
  const script = await new HttpScript().start();
  return world(t, script, new ModernHttpTransport(createTarget(script.url, more), MODERN));
}

export async function legacyWorld(
  t: TestContext,
  more: TargetOptions = {},
  options: LegacyHttpOptions = {},
): Promise<World<LegacyHttpTransport>> {
  const script = await new HttpScript().start();
  return world(t, script, new LegacyHttpTransport(createTarget(script.url, more), options));
}

export const SESSION = "session-0123456789";

/** A link in a session, handshake done; the server has no stream of its own unless the test takes the GET. */
export async function sessionWorld(
  t: TestContext,
  more: TargetOptions = {},
  options: LegacyHttpOptions = {},
  version: string = LEGACY,
): Promise<World<LegacyHttpTransport>> {
  const made = await legacyWorld(t, { ...more, limits: { streamOpenMs: 0, ...more.limits } }, options);
  const { script, link, call } = made;
  const opened = call({ method: "initialize", params: { protocolVersion: LEGACY }, cancellable: false });
  (await script.next("initialize")).result({ protocolVersion: version }, { "mcp-session-id": SESSION });
  await opened;
  const ready = link.notify("notifications/initialized", undefined);
  (await script.next("notifications/initialized")).status(202);
  await ready;
  return made;
}

function world<L extends ClientTransport>(t: TestContext, script: HttpScript, link: L): World<L> {
  const told = new Recorder();
  link.receiver = told;
  t.after(async () => {
    await script.stop();
    await link.close();
  });
  const call = (request: Partial<TransportRequest> = {}, limits: LifetimeLimits = {}, clock?: Clock) => {
    const made: TransportRequest = { method: "tools/call", params: { name: "t" }, cancellable: true, ...request };
    const scope = new CallLifetime(made.method, limits, clock);
    const answered = link.request(made, scope);
    const close = () => scope.close();
    answered.then(close, close);
    return answered;
  };
  return { script, link, told, call };
}

/** Resolves when all that is already on its way within this process has been dealt with. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

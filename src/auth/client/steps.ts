import type { AuthRun } from "../http.js";
import { selectScope } from "../scopes.js";
import { demandOf, NO_DEMAND } from "./challenge.js";
import { type Attempt, type Callback, parseCallback, startAttempt } from "./code-flow.js";
import { discover, type Guard } from "./discover.js";
import { type Identity, identify } from "./identify.js";
import type { Settings } from "./settings.js";
import type { TokenRecord } from "./store.js";
import { TokenFlows } from "./token-flows.js";

export interface StepOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The steps of an authorization one by one, for hosts that lead the way themselves. The checks are the same. */
export interface AuthSteps {
  /** Who guards the server; `refusal` is the response that asked for a token. */
  discover(refusal?: Response, options?: StepOptions): Promise<Guard>;
  /** Who this client is there: known before, by its document, or newly registered. */
  identify(guard: Guard, options?: StepOptions): Promise<Identity>;
  /** Where to send the user, and what the answer is checked against. */
  start(guard: Guard, identity: Identity, scope?: string): Promise<{ readonly attempt: Attempt; readonly url: URL }>;
  /** Checks the answer and redeems the code. */
  exchange(attempt: Attempt, callback: Callback, options?: StepOptions): Promise<TokenRecord>;
  refresh(guard: Guard, identity: Identity, tokens: TokenRecord, options?: StepOptions): Promise<TokenRecord>;
  revoke(guard: Guard, tokens: TokenRecord, options?: StepOptions): Promise<void>;
}

export function createStepsWith(server: URL, settings: Settings): AuthSteps {
  const http = settings.httpFor(server);
  const flows = new TokenFlows(server.href, settings, http);
  const redirectUrl = settings.redirectUrl ?? "";
  const onIssuer = async () => {};
  const begin = ({ signal }: StepOptions = {}): AuthRun => ({
    signal: AbortSignal.any([AbortSignal.timeout(settings.deadlineMs), ...(signal === undefined ? [] : [signal])]),
    tried: [],
    now: settings.now,
  });
  return {
    discover: (refusal, options) => {
      const demand = (refusal === undefined ? undefined : demandOf(refusal)) ?? NO_DEMAND;
      return discover(http, server, demand, { ...settings.discovery, onIssuer }, begin(options));
    },
    identify: (guard, options) => identify(http, settings.records, guard, settings.identity, begin(options)),
    start: (guard, identity, scope) => {
      const sources = { challenged: scope, held: undefined, offered: guard.scopes, configured: settings.scope };
      return startAttempt(
        server.href,
        guard,
        identity,
        redirectUrl,
        selectScope(sources),
        settings.now(),
        settings.parameters,
      );
    },
    exchange: (attempt, callback, options) =>
      flows.finish(attempt, parseCallback(callback, redirectUrl), begin(options)),
    refresh: (guard, identity, tokens, options) => flows.refresh(guard, tokens, identity, begin(options)),
    revoke: (guard, tokens, options) => flows.revoke(guard, tokens, begin(options)),
  };
}

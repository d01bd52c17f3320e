import { timeoutSignal } from "../abortable.js";
import type { AuthRun } from "../http.js";
import { selectScope } from "../scopes.js";
import { NO_CHALLENGE, tokenChallengeOf } from "./challenge.js";
import { type Attempt, type Callback, parseCallback, startAttempt } from "./code-flow.js";
import { type Discovery, discover } from "./discover.js";
import { type Identity, identify } from "./identify.js";
import type { Settings } from "./settings.js";
import type { TokenRecord } from "./store.js";
import { TokenFlows } from "./token-flows.js";

/** Options of a step. */
export interface StepOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Steps of an authorization, for hosts that run the flow themselves. The checks are the same as in `oauth`. */
export interface AuthSteps {
  /** Finds the authorization server of the MCP server. `refusal` is the 401 or 403 response that demands a token. */
  discover(refusal?: Response, options?: StepOptions): Promise<Discovery>;
  /**
   * Returns the client's identity at the authorization server. Uses a client that is known in advance, the metadata
   * document, or a stored registration, in this order. Otherwise registers the client.
   */
  identify(discovery: Discovery, options?: StepOptions): Promise<Identity>;
  /** Returns the URL to which the user is redirected, and the attempt against which the response is checked. */
  start(
    discovery: Discovery,
    identity: Identity,
    scope?: string,
  ): Promise<{ readonly attempt: Attempt; readonly url: URL }>;
  /** Checks the response and exchanges its code for tokens. */
  exchange(attempt: Attempt, callback: Callback, options?: StepOptions): Promise<TokenRecord>;
  /** Exchanges the refresh token for new tokens. */
  refresh(discovery: Discovery, identity: Identity, tokens: TokenRecord, options?: StepOptions): Promise<TokenRecord>;
  /** Revokes the tokens at the authorization server. */
  revoke(discovery: Discovery, tokens: TokenRecord, options?: StepOptions): Promise<void>;
}

export function createStepsWith(server: URL, settings: Settings): AuthSteps {
  const http = settings.httpFor(server);
  const flows = new TokenFlows(server.href, settings, http);
  const redirectUrl = settings.redirectUrl ?? "";
  const onIssuer = async () => {};
  const begin = ({ signal }: StepOptions = {}): AuthRun => ({
    signal: AbortSignal.any([timeoutSignal(settings.deadlineMs), ...(signal === undefined ? [] : [signal])]),
    tried: [],
    now: settings.now,
  });
  return {
    discover: (refusal, options) => {
      const challenge = (refusal === undefined ? undefined : tokenChallengeOf(refusal)) ?? NO_CHALLENGE;
      return discover(http, server, challenge, { ...settings.discoverOptions, onIssuer }, begin(options));
    },
    identify: (discovery, options) => identify(http, settings.records, discovery, settings.identity, begin(options)),
    start: (discovery, identity, scope) => {
      const sources = { challenged: scope, held: undefined, offered: discovery.scopes, configured: settings.scope };
      return startAttempt(
        server.href,
        discovery,
        identity,
        redirectUrl,
        selectScope(sources),
        settings.now(),
        settings.parameters,
      );
    },
    exchange: (attempt, callback, options) =>
      flows.finish(attempt, parseCallback(callback, attempt.redirectUrl), begin(options)),
    refresh: (discovery, identity, tokens, options) => flows.refresh(discovery, tokens, identity, begin(options)),
    revoke: (discovery, tokens, options) => flows.revoke(discovery, tokens, begin(options)),
  };
}

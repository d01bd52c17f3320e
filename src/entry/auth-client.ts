import { type BearerOptions, createBearerWith } from "../auth/client/bearer.js";
import { createOAuthWith, type OAuth } from "../auth/client/oauth.js";
import type { OAuthOptions } from "../auth/client/options.js";
import { toSettings } from "../auth/client/settings.js";
import { type AuthSteps, createStepsWith } from "../auth/client/steps.js";
import { isOnNode } from "../call/clock.js";
import { lazyModule } from "../call/lazy.js";
import { type Fetch, globalFetch } from "../http/client/send.js";
import { atCaller } from "../protocol/at-caller.js";
import { createPlatform } from "./auth-platform.js";

const nodeParts = lazyModule(() => import("../node/outgoing/usual-fetch.js"));

function onNode(name: "usualFetch" | "usualGuardedFetch"): Fetch {
  return (url, init) => {
    const parts = nodeParts();
    return parts instanceof Promise ? parts.then((loaded) => loaded[name](url, init)) : parts[name](url, init);
  };
}

const platform = isOnNode
  ? createPlatform(onNode("usualFetch"), onNode("usualGuardedFetch"))
  : createPlatform(globalFetch);

/** Creates the authorization of a client: `connect(url, oauth({ ... }))`. */
export function oauth(options: OAuthOptions = {}): OAuth {
  return atCaller(oauth, () => createOAuthWith(options, platform));
}

/** Provides the steps of `oauth` individually, for the authorization at one server. */
export function createAuthSteps(server: string | URL, options: OAuthOptions = {}): AuthSteps {
  return atCaller(createAuthSteps, () =>
    createStepsWith(new URL(server), toSettings("createAuthSteps", options, platform)),
  );
}

/** Creates the authorization with tokens from another source: `connect(url, bearer({ token }))`. */
export function bearer(options: BearerOptions): { readonly fetch: Fetch } {
  return atCaller(bearer, () => createBearerWith(options, platform));
}

export * from "./auth-client-common.js";

import { createIssuerWith, type Issuer } from "../auth/issuer/issuer.js";
import type { IssuerOptions } from "../auth/issuer/options.js";
import { isOnNode } from "../call/clock.js";
import { type Fetch, globalFetch } from "../http/client/send.js";
import { atCaller } from "../protocol/at-caller.js";

function createGuarded(allowLoopback: boolean): Fetch {
  let guarded: Fetch | undefined;
  return async (url, init) => {
    guarded ??= (await import("../node/outgoing/usual-fetch.js")).createUsualGuardedFetch({ allowLoopback });
    return await guarded(url, init);
  };
}

/** Creates an authorization server for MCP servers, for development, tests and small deployments. */
export function createIssuer(options: IssuerOptions): Issuer {
  const { clientDocuments } = Object(options) as Partial<IssuerOptions>;
  const allowLoopback = typeof clientDocuments === "object" && clientDocuments.allowLoopback === true;
  return atCaller(createIssuer, () => createIssuerWith(options, isOnNode ? createGuarded(allowLoopback) : globalFetch));
}

export * from "./auth-issuer-common.js";

import { createIssuerWith } from "../../auth/issuer/issuer.js";
import { isOnNode } from "../../call/clock.js";
import { globalFetch } from "../../http/client/send.js";
import { DefinitionError } from "../../protocol/errors.js";
import type * as issuer from "../auth-issuer.js";

/** Throws on Node, where the `fetch` of this entry would reach private addresses that clients name. */
export const createIssuer: typeof issuer.createIssuer = (options) => {
  if (isOnNode)
    throw new DefinitionError(
      "createIssuer: the program was bundled with the condition browser, so that private addresses cannot be refused on Node; bundle it without",
    );
  return createIssuerWith(options, globalFetch);
};

export * from "../auth-issuer-common.js";

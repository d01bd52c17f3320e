import { createIssuerWith } from "../../auth/issuer/issuer.js";
import { globalFetch } from "../../http/client/send.js";
import type * as issuer from "../auth-issuer.js";

export const createIssuer: typeof issuer.createIssuer = (options) => createIssuerWith(options, globalFetch);

export * from "../auth-issuer-common.js";

import { digestOf } from "../crypto.js";
import { DpopCheck, USED_BEFORE } from "../dpop/check.js";
import type { IssuerExtension } from "./core.js";
import type { IssuerLimits } from "./limits.js";
import type { IssuerDpopOptions } from "./options.js";
import { OAuthProblem } from "./problem.js";

const CODE = "invalid_dpop_proof";

/**
 * Creates the extension that binds tokens to a key (RFC 9449). If a token request has a DPoP proof, its tokens are
 * bound to the key of the proof. A request with an invalid proof is rejected.
 */
export function createDpop(
  options: IssuerDpopOptions,
  tokenEndpoint: string,
  limits: IssuerLimits,
  now: () => number,
): IssuerExtension {
  const proofs = { ...limits, maxProofs: 0, maxProofsPerKey: 0 };
  const check = new DpopCheck({ ...options, url: () => tokenEndpoint }, undefined, proofs, now);
  return {
    metadata: { dpop_signing_alg_values_supported: check.algorithms },
    async bind(_core, request) {
      if (!request.headers.has("dpop")) return undefined;
      const header = (name: string) => request.headers.get(name) ?? undefined;
      const {
        error = CODE,
        description = "",
        proved,
        nonce,
      } = await check.inspect({ method: request.method, url: "", header });
      const headers = nonce === undefined ? {} : { "dpop-nonce": nonce };
      if (proved === undefined) throw new OAuthProblem(error, description, { headers });
      // The use is recorded in the store, so that all processes that share it accept each proof once.
      const { thumbprint: jkt, name, untilMs: expiresAt } = proved;
      const refusal = new OAuthProblem(CODE, USED_BEFORE);
      return { binding: { type: "DPoP", jkt }, uses: [{ mark: `proof:${await digestOf(name)}`, expiresAt, refusal }] };
    },
  };
}

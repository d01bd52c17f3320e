import { digestOf } from "../crypto.js";
import { DpopCheck } from "../dpop/check.js";
import type { IssuerCore, IssuerExtension } from "./core.js";
import type { IssuerDpopOptions } from "./options.js";
import { OAuthProblem } from "./problem.js";

/** Binds the tokens of requests that come with a proof. A proof that is wrong yields no token at all. */
export function createDpop(options: IssuerDpopOptions, now: () => number): IssuerExtension {
  let check: DpopCheck | undefined;
  const checkOf = (core: IssuerCore): DpopCheck => {
    check ??= createCheck(options, core);
    return check;
  };
  // What is wrong with the options is said where they are written.
  const { algorithms } = new DpopCheck({ ...options, url: () => "" }, undefined, now);
  return {
    metadata: { dpop_signing_alg_values_supported: algorithms },
    async bind(core, request) {
      if (!request.headers.has("dpop")) return undefined;
      const header = (name: string) => request.headers.get(name) ?? undefined;
      const outcome = await checkOf(core).check({ method: request.method, url: "", header });
      const { error, description = "", thumbprint, nonce } = outcome;
      if (error === undefined && thumbprint !== undefined) return { type: "DPoP", jkt: thumbprint };
      const headers = nonce === undefined ? {} : { "dpop-nonce": nonce };
      throw new OAuthProblem(error ?? "invalid_dpop_proof", description, { headers });
    },
  };
}

/** Proofs are remembered in the store, so that all that share it take each once. */
function createCheck(options: IssuerDpopOptions, core: IssuerCore): DpopCheck {
  const acceptProof = async (name: string, untilMs: number) =>
    await core.store.add(`proof:${await digestOf(name)}`, true, untilMs);
  return new DpopCheck({ ...options, acceptProof, url: () => `${core.base}/token` }, undefined, () => core.now());
}

import type { IssuerCore, Login } from "./issuer-core.js";
import type { UpstreamOptions } from "./upstream-options.js";

export function createUpstreamLogin(options: UpstreamOptions): Login {
  return {
    leavesFor: [options.authorizationEndpoint],
    who: async () => undefined,
    proceed: async () => {
      throw new Error("not yet");
    },
  };
}

export async function callback(_core: IssuerCore, _request: Request): Promise<Response> {
  throw new Error("not yet");
}

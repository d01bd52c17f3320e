import { deepEqual, equal, notEqual } from "node:assert/strict";
import { ClusterError, type ClusterFailure, issuerStore, memoryCluster } from "bowline/cluster";
import { withoutRoom } from "../../../support/full-cluster.js";
import { CLIENT, IssuerWorld, RESOURCE, read } from "../../../support/issuer-world.js";
import { replaceParts } from "../../../support/nodes-world.js";
import { proves } from "../../../support/verifies.js";

for (const failure of ["unavailable", "unknown_outcome", "refused"] as const)
  proves(
    "cluster:engine-full:auth",
    {},
    `an authorization server whose engine fails (${failure}) says whether to come back`,
    async (t) => {
      const inner = memoryCluster();
      let now: { writes?: ClusterFailure; reads?: ClusterFailure } = {};
      const cluster = replaceParts(
        inner,
        withoutRoom(inner, () => now.writes),
      );
      const { records } = cluster;
      const store = issuerStore({
        records: replaceParts(records, {
          get: async (key) => {
            if (now.reads !== undefined) throw new ClusterError(now.reads, "10.0.0.5 is away");
            return records.get(key);
          },
        }),
      });
      const world = await IssuerWorld.open(t, { store });
      const [code, { refresh, access }, other] = [await world.code(), await world.tokens(), await world.tokens()];
      const form = { client_id: CLIENT, token: other.refresh };
      const assertRefused = async (what: string, response: Response) => {
        const { status, headers, json } = await read(response);
        if (failure === "refused")
          return deepEqual([status, headers.get("retry-after"), json.error], [500, null, "server_error"], what);
        deepEqual([status, headers.get("retry-after"), json.error], [503, "5", "temporarily_unavailable"], what);
        equal(JSON.stringify(json).includes("10.0.0.5"), false);
      };
      const metadata = { redirect_uris: ["https://app.example/cb"], token_endpoint_auth_method: "none" };
      const register = () => world.fetch("register", { method: "POST", body: JSON.stringify(metadata) });

      now = { writes: failure };
      const renewal = { grant_type: "refresh_token", client_id: CLIENT, refresh_token: other.refresh };
      await assertRefused("refresh", await world.post("token", renewal));
      await assertRefused("register", await register());
      await assertRefused("revoke", await world.post("revoke", form));
      now = { reads: failure };
      await assertRefused("code", await world.post("token", { ...renewal, ...codeForm(code) }));

      // Users get a page.
      const page = await world.fetch(`authorize?client_id=unknown&redirect_uri=${encodeURIComponent(RESOURCE)}`);
      equal(page.status, failure === "refused" ? 500 : 503);

      now = {};
      equal((await world.redeem(code)).status, 200);
      equal((await world.refresh(refresh)).status, 200);
      equal((await register()).status, 201);
      equal(await world.admits(access), true);
      notEqual(world.errors.length, 0);
    },
  );

function codeForm({ code, verifier }: { readonly code: string; readonly verifier: string }) {
  return {
    grant_type: "authorization_code",
    code,
    code_verifier: verifier,
    redirect_uri: "https://app.example/cb",
  };
}

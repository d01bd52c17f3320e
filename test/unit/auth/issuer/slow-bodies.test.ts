import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { createIssuer } from "bowline/auth/issuer";
import { CALLBACK, ISSUER, RESOURCE } from "../../../support/issuer-world.js";

const FORM = "application/x-www-form-urlencoded";

/** A body that comes byte by byte and never ends. Resolves `cancelled` when nobody reads it any more. */
function trickle() {
  let onCancel: () => void;
  const cancelled = new Promise<void>((resolve) => {
    onCancel = resolve;
  });
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        controller.enqueue(new Uint8Array([97]));
      },
      cancel: () => onCancel(),
    },
    { highWaterMark: 0 },
  );
  return { body, cancelled };
}

for (const [path, type] of [
  ["token", FORM],
  ["revoke", FORM],
  ["authorize", FORM],
  ["consent", FORM],
  ["register", "application/json"],
] as const) {
  test(`a body that does not arrive in time is given up (${path})`, async () => {
    const errors: unknown[] = [];
    const issuer = createIssuer({
      issuer: ISSUER,
      resources: [RESOURCE],
      user: () => ({ id: "ada" }),
      clients: [{ clientId: "c", redirectUris: [CALLBACK] }],
      limits: { formMs: 20 },
      onError: (error) => errors.push(error),
    });
    const { body, cancelled } = trickle();
    const init = { method: "POST", headers: { "content-type": type }, body, duplex: "half" };
    const response = await issuer.fetch(new Request(`${ISSUER}/${path}`, init as RequestInit));
    equal(response.status, 408);
    match(await response.text(), /the body did not arrive within 20 ms/);
    await cancelled;
    deepEqual(errors, []);
  });
}

test("without a limit a body may take its time", async () => {
  const limits = { formMs: Number.POSITIVE_INFINITY };
  const issuer = createIssuer({ issuer: ISSUER, resources: [RESOURCE], user: () => ({ id: "ada" }), limits });
  const init = { method: "POST", headers: { "content-type": FORM }, body: "grant_type=unknown" };
  equal((await issuer.fetch(new Request(`${ISSUER}/token`, init))).status, 400);
});

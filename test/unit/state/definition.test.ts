import { equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { defineState } from "bowline/state";

test("a definition names its mistake", () => {
  throws(() => defineState("no spaces"), /the name must have 1 to 64 letters/);
  throws(() => defineState("a", { per: "user" as never }), /per must be "principal" or "session", got "user"/);
  throws(() => defineState("a", { ttlMs: 0 }), /ttlMs must be a whole number above 0, got 0/);
  throws(() => defineState("a", { maxChars: 1.5 }), /maxChars must be a whole number above 0, got 1.5/);
  throws(() => defineState("a", { scheme: {} } as never), /unknown option scheme; did you mean schema\?/);
  equal(defineState("cart").name, "cart");
});

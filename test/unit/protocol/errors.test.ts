import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError, TimeoutError } from "bowline/client";
import { afterFirstAnswer } from "#src/protocol/errors.js";

test("a connection error that says nothing else may have reached the server", () => {
  const bare = new ConnectionError("lost");
  deepEqual([bare.code, bare.delivery, bare.retrySafe], ["connection_error", "sent", false]);
  deepEqual(
    [bare.status, bare.retryAfterMs, bare.exitCode, bare.command],
    [undefined, undefined, undefined, undefined],
  );
  deepEqual(bare.stderr, []);
});

test("only what proves that no handler ran makes a call safe to repeat", () => {
  for (const [delivery, safe] of [
    ["not_sent", true],
    ["refused", true],
    ["sent", false],
    ["answer_lost", false],
  ] as const) {
    equal(new ConnectionError("lost", { delivery }).retrySafe, safe, delivery);
  }
});

test("after a first answer no error makes the call safe to repeat", () => {
  const refused = new ConnectionError("busy", { delivery: "refused" });
  const after = afterFirstAnswer(refused) as ConnectionError;
  deepEqual([after.message, after.delivery, after.retrySafe, after.cause], ["busy", "answer_lost", false, refused]);
  equal((afterFirstAnswer(refused, "sent") as ConnectionError).delivery, "sent");
  const sent = new ConnectionError("lost");
  equal(afterFirstAnswer(sent), sent);
  const late = afterFirstAnswer(new TimeoutError("idle", 10, "late", "not_sent")) as TimeoutError;
  deepEqual([late.kind, late.afterMs, late.message, late.delivery], ["idle", 10, "late", "answer_lost"]);
  const lateSent = new TimeoutError("idle", 10, "late");
  equal(afterFirstAnswer(lateSent), lateSent);
  equal(afterFirstAnswer("words"), "words");
});

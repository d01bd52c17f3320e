import { equal } from "node:assert/strict";
import { test } from "node:test";
import { failureOf, isAnswer, JetStreamError } from "#src/nats/failure.js";

const failureFor = (code: number, message: string) =>
  failureOf(new JetStreamError(code, message), "connect", false).failure;

test("a consumer of a stream that is being created may be created later", () => {
  equal(failureFor(10012, "invalid stream"), "unavailable");
  equal(isAnswer(new JetStreamError(10012, "invalid stream")), false);
});

test("a consumer that is refused for another reason is refused for good", () => {
  equal(failureFor(10012, "consumer config required"), "refused");
  equal(isAnswer(new JetStreamError(10012, "consumer config required")), true);
});

import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ConnectionError, connect } from "bowline/client";

test("a program that is gone before it is asked has not left because of the question", async () => {
  const sent: string[] = [];
  const gone = new ConnectionError("The program has left", {
    delivery: "not_sent",
    stderr: ["unknown method in the configuration"],
    exitCode: 1,
  });
  const channel = {
    open() {},
    send(text: string) {
      sent.push((JSON.parse(text) as { method: string }).method);
      return Promise.reject(gone);
    },
    close: async () => {},
  };
  await rejects(connect({ channel }), { name: "ConnectionError", delivery: "not_sent", cause: gone });
  deepEqual(sent, ["server/discover"]);
});

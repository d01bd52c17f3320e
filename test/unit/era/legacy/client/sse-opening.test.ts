import { rejects } from "node:assert/strict";
import { test } from "node:test";
import { type ConnectionError, connect } from "bowline/client";
import { HttpScript, type Received } from "../../../../support/http-script.js";

/** What the server does with the GET, after it has refused the POST with 405, and the status of the error. */
const FAILURES: readonly [does: string, answer: (stream: Received) => void, status: number | undefined][] = [
  ["is cut before an answer", (stream) => stream.cut(), undefined],
  ["is cut before it says where to post", (stream) => stream.stream().raw(": soon\n\n").cut(), undefined],
  ["is refused for now", (stream) => stream.status(503, "busy"), 503],
  ["is refused to who asks too often", (stream) => stream.status(429, "later"), 429],
  ["does not exist", (stream) => stream.status(404, "nothing here"), 405],
  ["ends without saying where to post", (stream) => stream.stream().end(), 405],
];

for (const [does, answer, status] of FAILURES) {
  const told = status === 405 ? "the refusal of the POST" : "its own failure";
  test(`a stream of HTTP+SSE that ${does} fails connecting with ${told}`, async (t) => {
    const script = await new HttpScript().start();
    t.after(() => script.stop());
    script.onRequest = (received) => {
      if (received.method === "POST") received.status(405, "no");
      else answer(received);
    };
    await rejects(connect(script.url, { era: "legacy" }), (error: ConnectionError) => {
      return error.name === "ConnectionError" && error.status === status;
    });
  });
}

import { deepEqual, equal } from "node:assert/strict";
import { CallLifetime } from "#src/call/lifetime.js";
import { LegacyHttpTransport } from "#src/era/legacy/client/http.js";
import { ModernHttpTransport } from "#src/era/modern/client/http.js";
import { createTarget, MODERN, Recorder } from "../../support/http-transports.js";
import { modernRequest } from "../../support/modern-request.js";
import { verifies, type Wire } from "../../support/verifies.js";

const NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"text":"é😀"}}';
const ANSWER = '{"jsonrpc":"2.0","id":0,"result":{}}';

type Target = ReturnType<typeof createTarget>;
const LINKS: readonly Wire<(target: Target) => ModernHttpTransport | LegacyHttpTransport>[] = [
  { name: "modern-http", open: () => (target) => new ModernHttpTransport(target, MODERN) },
  { name: "legacy-http", open: () => (target) => new LegacyHttpTransport(target) },
];

/** Streams that all hold one notification and the answer. */
const STREAMS: Record<string, string> = {
  "line feeds": `data: ${NOTE}\n\ndata: ${ANSWER}\n\n`,
  "carriage returns": `data: ${NOTE}\r\rdata: ${ANSWER}\r\r`,
  both: `data: ${NOTE}\r\n\r\ndata: ${ANSWER}\r\n\r\n`,
  "a byte order mark": `\uFEFFdata: ${NOTE}\n\ndata: ${ANSWER}\n\n`,
  "no space after the colon": `data:${NOTE}\n\ndata:${ANSWER}\n\n`,
  "data on several lines": `data: ${NOTE.replace(",", ",\ndata: ")}\n\ndata: ${ANSWER}\n\n`,
  "unknown fields": `foo: bar\ndata: ${NOTE}\nid: a\0b\nretry: soon\n\nfoo\ndata: ${ANSWER}\n\n`,
  "an event that is cut off at the end": `data: ${NOTE}\n\ndata: ${ANSWER}\n\ndata: ${NOTE}\n`,
};

for (const [name, text] of Object.entries(STREAMS)) {
  for (const size of [1, Number.POSITIVE_INFINITY]) {
    const cut = size === 1 ? "byte by byte" : "whole";
    verifies("client-transport:http:sse-parser", `${name}, ${cut}`, LINKS, async (createLink) => {
      const bytes = new TextEncoder().encode(text);
      const body = () =>
        new ReadableStream<Uint8Array>({
          start(controller) {
            for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
            controller.close();
          },
        });
      const fetch = async () => new Response(body(), { headers: { "content-type": "text/event-stream" } });
      const target = createTarget(new URL("http://127.0.0.1/mcp"), { fetch });
      const link = createLink(target);
      const told = new Recorder();
      link.receiver = told;
      const params = link instanceof ModernHttpTransport ? modernRequest("tools/list").body.params : undefined;
      const request = { method: "tools/list", params, cancellable: true };
      deepEqual(await link.request(request, new CallLifetime("tools/list", {})), JSON.parse(ANSWER));
      equal(told.notifications.length, 1);
      deepEqual(told.notifications[0]?.[0].params, { text: "é😀" });
      deepEqual(told.problems, []);
      await link.close();
    });
  }
}

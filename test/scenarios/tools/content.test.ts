import { deepEqual, equal } from "node:assert/strict";
import { audio, embedded, image, link, McpServer, text, toolResult } from "bowline/server";
import { eachWire } from "../../support/each-wire.js";
import { RawServer } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const anything = { type: "object" } as const;
const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7919) & 0xff);
const decode = (data: string) => new Uint8Array(Buffer.from(data, "base64"));

verifies("tools:call:content:text", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("echo", { input: anything }, (args) => String(args.text));
  const client = await connect(server);
  for (const said of ["plain", "", "line\nbreak \u2028 \u0000", "𝄞 🪢 e\u0301"]) {
    const { content, isError } = await client.callTool("echo", { text: said });
    deepEqual(content, [{ type: "text", text: said }]);
    equal(isError, false);
  }
});

verifies("tools:call:content:image", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("draw", {}, () => image(bytes, "image/png")));
  const [block] = (await client.callTool("draw")).content;
  equal(block?.type, "image");
  if (block?.type !== "image") return;
  equal(block.mimeType, "image/png");
  deepEqual(decode(block.data), bytes);
});

verifies("tools:call:content:audio", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("sing", {}, () => audio(bytes, "audio/wav")));
  const [block] = (await client.callTool("sing")).content;
  equal(block?.type, "audio");
  if (block?.type !== "audio") return;
  equal(block.mimeType, "audio/wav");
  deepEqual(decode(block.data), bytes);
});

verifies("tools:call:content:embedded-resource", eachWire, async ({ connect }) => {
  const written = { uri: "note://1", mimeType: "text/plain", text: "a note" };
  const stored = { uri: "note://2", mimeType: "application/octet-stream", blob: "AAEC" };
  const server = new McpServer(me)
    .tool("written", {}, () => embedded(written))
    .tool("stored", {}, () => embedded(stored));
  const client = await connect(server);
  deepEqual((await client.callTool("written")).content, [{ type: "resource", resource: written }]);
  deepEqual((await client.callTool("stored")).content, [{ type: "resource", resource: stored }]);
});

const described = {
  uri: "file:///unlisted.txt",
  name: "unlisted.txt",
  title: "Not in the list",
  description: "d",
  mimeType: "text/plain",
  size: 12,
  annotations: { audience: ["user" as const], priority: 0.5, lastModified: "2025-01-12T15:00:58Z" },
  icons: [{ src: "https://example.com/i.png", sizes: ["16x16"] }],
};

verifies("tools:call:content:resource-link", eachWire, async ({ connect }) => {
  const server = new McpServer(me)
    .tool("find", {}, () => link(described))
    .resource("file:///listed.txt", { name: "listed.txt" }, () => "");
  const client = await connect(server);
  deepEqual((await client.callTool("find")).content, [{ type: "resource_link", ...described }]);
  deepEqual(
    (await client.resources().all()).map(({ uri }) => uri),
    ["file:///listed.txt"],
  );
});

verifies("tools:call:content:mixed", eachWire, async ({ connect }) => {
  const blocks = [
    embedded({ uri: "note://1", text: "n" }),
    text("words"),
    audio("AAEC", "audio/wav"),
    link({ uri: "note://2", name: "two" }),
    image("AAEC", "image/png"),
  ];
  const client = await connect(new McpServer(me).tool("all", {}, () => blocks));
  deepEqual((await client.callTool("all")).content, blocks);
});

verifies("tools:call:content:annotations", eachWire, async ({ connect }) => {
  const extras = {
    annotations: {
      audience: ["assistant" as const, "user" as const],
      priority: 1,
      lastModified: "2025-01-12T15:00:58.123+02:00",
    },
    _meta: { "example.com/k": { deep: [1] } },
  };
  const blocks = [
    { ...text("words"), ...extras },
    { ...image("AAEC", "image/png"), ...extras },
    { ...audio("AAEC", "audio/wav"), ...extras },
    { ...link({ uri: "note://2", name: "two" }), ...extras },
    { ...embedded({ uri: "note://1", text: "n" }), ...extras },
  ];
  const server = new McpServer(me)
    .tool("all", {}, () => toolResult({ content: blocks }))
    .prompt("all", {}, () => blocks.map((content) => ({ role: "user" as const, content })));
  const client = await connect(server);
  deepEqual((await client.callTool("all")).content, blocks);
  deepEqual(
    (await client.getPrompt("all")).messages.map(({ content }) => content),
    blocks,
  );
});

for (const era of ["modern", "legacy"] as const) {
  proves("tools:call:content:unknown-type-tolerated", { wire: `${era}-memory` }, "it arrives as it is", async (t) => {
    const content = [
      { type: "text", text: "known" },
      { type: "hologram", layers: [1, 2] },
    ];
    const raw = new RawServer({ era, handlers: { "tools/call": () => ({ content }) } });
    const outcome = await (await raw.connect(t)).callTool("project");
    deepEqual(outcome.content, content);
    equal(outcome.text, "known");
  });
}

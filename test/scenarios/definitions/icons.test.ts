import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { ProtocolVersion } from "bowline/client";
import { isSafeIcon, type LoadedIcon, loadIcon } from "bowline/client";
import { McpServer } from "bowline/server";
import { eachWire, legacyChannels, modernChannels } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { RawServer } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const icons = [
  { src: "https://example.com/light.png", mimeType: "image/png", sizes: ["48x48", "96x96"], theme: "light" as const },
  { src: "data:image/svg+xml;base64,PHN2Zy8+", sizes: ["any"], theme: "dark" as const },
];
const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2);
const JPEG = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 1, 2);
const WEBP = new TextEncoder().encode("RIFF\0\0\0\0WEBPVP8 ");
const SVG = new TextEncoder().encode('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>');
const server = "https://example.com/mcp";
const unsafe = { code: "unsafe_icon" };

function decorated(): McpServer {
  const decoratedServer = new McpServer({ ...me, icons: [...icons] });
  decoratedServer
    .tool("t", { icons }, () => "")
    .prompt("p", { icons }, () => "")
    .resource("r://1", { name: "r", icons }, () => "")
    .resource("f://{id}", { name: "f", icons }, () => "");
  return decoratedServer;
}

verifies("icons:roundtrip", eachWire, async ({ connect }) => {
  let seen: unknown;
  const decoratedServer = decorated();
  decoratedServer.tool("look", {}, (_, ctx) => {
    seen = ctx.client.info?.icons;
    return "";
  });
  const client = await connect(decoratedServer, { info: { name: "c", version: "1", icons: [...icons] } });
  deepEqual(client.server.info?.icons, icons);
  deepEqual((await client.tools().all())[0]?.icons, icons);
  deepEqual((await client.prompts().all())[0]?.icons, icons);
  deepEqual((await client.resources().all())[0]?.icons, icons);
  deepEqual((await client.resourceTemplates().all())[0]?.icons, icons);
  await client.callTool("look");
  deepEqual(seen, icons);
});

verifies(["icons:old-peers", "icons:roundtrip"], "older versions do not get them", legacyChannels, async (world) => {
  for (const version of ["2024-11-05", "2025-03-26", "2025-06-18"]) {
    const client = await AskedClient.open(world, decorated(), { version });
    for (const method of ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]) {
      ok(!JSON.stringify(await client.result(method)).includes("icons"), method);
    }
    const dialled = await world.connect(decorated(), {
      versions: [version as ProtocolVersion],
      info: { name: "c", version: "1", icons: [...icons] },
    });
    for (const { text } of dialled.wire.frames) ok(!text.includes("icons"));
  }
});

verifies("icons:roundtrip", "as they are on the wire", modernChannels, async (world) => {
  const client = await AskedClient.open(world, decorated());
  deepEqual(((await client.result("tools/list")).tools as { icons?: unknown }[])[0]?.icons, icons);
});

for (const version of ["2025-06-18", "2025-11-25"]) {
  proves("icons:old-peers", { wire: "legacy-memory" }, `malformed ones of ${version} fail nothing`, async (t) => {
    const odd = [{ src: "https://example.com/i.png", sizes: "48x48 96x96", theme: "sepia", glow: 1 }];
    const raw = new RawServer({
      era: "legacy",
      version,
      handlers: { "tools/list": () => ({ tools: [{ name: "t", inputSchema: { type: "object" }, icons: odd }] }) },
    });
    const client = await raw.connect(t, { versions: [version as ProtocolVersion] });
    deepEqual((await client.listTools()).tools[0]?.icons, odd);
  });
}

proves("icons:safe-scheme", {}, "https and data alone", async () => {
  const bad = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    " javascript:x",
    "file:///etc/passwd",
    "ftp://h/i.png",
    "ws://h/i",
  ];
  bad.push(
    "http://example.com/i.png",
    "HTTP://example.com/i.png",
    "vscode://x",
    "\thttps://example.com/i.png",
    "data:text/html,x",
    "",
  );
  for (const src of bad) {
    equal(isSafeIcon(src), false, src);
    await rejects(loadIcon({ src }, { server }), unsafe);
  }
  for (const src of ["https://example.com/i.png", "HTTPS://example.com/i.png", "data:image/png;base64,AAEC"]) {
    equal(isSafeIcon(src), true, src);
  }
});

type Answer = (url: URL, init: RequestInit) => Response;

/** Loads from a network of the test's own, and tells what was asked for. */
async function fetched(src: string, answer: Answer, options: object = {}) {
  const asked: { url: string; init: RequestInit }[] = [];
  const fetch = async (url: URL, init: RequestInit) => {
    asked.push({ url: url.href, init });
    return answer(url, init);
  };
  const outcome: { icon?: LoadedIcon; error?: unknown } = await loadIcon({ src }, { server, fetch, ...options }).then(
    (icon) => ({ icon }),
    (error: unknown) => ({ error }),
  );
  return { ...outcome, asked };
}

const png: Answer = () => new Response(PNG, { headers: { "content-type": "image/png" } });

proves("icons:fetch-redirects", {}, "none that leaves", async () => {
  for (const location of ["http://example.com/i.png", "https://other.com/i.png", "https://example.com:8443/i.png"]) {
    const { error, asked } = await fetched(
      "https://example.com/i.png",
      () => new Response(null, { status: 302, headers: { location } }),
    );
    equal((error as { code?: string }).code, "unsafe_icon");
    equal(asked.length, 1);
    equal(asked[0]?.init.redirect, "manual");
  }
  const same = await fetched("https://example.com/i.png", (url, init) =>
    url.pathname === "/i.png" ? new Response(null, { status: 302, headers: { location: "/j.png" } }) : png(url, init),
  );
  deepEqual(same.icon?.bytes, PNG);
});

proves("icons:fetch-no-credentials", {}, "nothing of the client's goes along", async () => {
  const { icon, asked } = await fetched("https://example.com/i.png", png);
  ok(icon !== undefined);
  const { credentials, headers, referrerPolicy } = asked[0]?.init ?? {};
  deepEqual(
    { credentials, headers, referrerPolicy },
    { credentials: "omit", headers: undefined, referrerPolicy: "no-referrer" },
  );
  const withPassword = await fetched("https://me:secret@example.com/i.png", png);
  equal(withPassword.asked.length, 0);
  ok(withPassword.error !== undefined);
});

proves("icons:same-origin", {}, "elsewhere only where that is allowed", async () => {
  const src = "https://cdn.example.net/i.png";
  const refused = await fetched(src, png);
  equal(refused.asked.length, 0);
  equal((refused.error as { code?: string }).code, "unsafe_icon");
  ok((await fetched(src, png, { allowOrigins: ["https://cdn.example.net"] })).icon !== undefined);
  ok((await fetched("https://example.com/i.png", png)).icon !== undefined);
});

const dataUri = (type: string, bytes: Uint8Array) => `data:${type};base64,${Buffer.from(bytes).toString("base64")}`;

proves("icons:content-check", {}, "by its first bytes", async () => {
  equal((await loadIcon({ src: dataUri("image/png", PNG) })).mimeType, "image/png");
  equal((await loadIcon({ src: dataUri("image/jpeg", JPEG), mimeType: "image/jpg" })).mimeType, "image/jpeg");
  const html = new TextEncoder().encode("<html><svg></svg></html>");
  const gif = new TextEncoder().encode("GIF89a....");
  for (const bytes of [html, gif, new Uint8Array()])
    await rejects(loadIcon({ src: dataUri("image/png", bytes) }), unsafe);
  await rejects(loadIcon({ src: dataUri("image/png", JPEG) }), unsafe);
  await rejects(loadIcon({ src: dataUri("image/png", PNG), mimeType: "image/jpeg" }), unsafe);
  const mislabelled = await fetched(
    "https://example.com/i",
    () => new Response(JPEG, { headers: { "content-type": "image/png" } }),
  );
  ok(mislabelled.error !== undefined);
});

proves("icons:svg-webp", {}, "SVG is active, and asked for", async () => {
  deepEqual(await loadIcon({ src: dataUri("image/webp", WEBP) }), {
    bytes: WEBP,
    mimeType: "image/webp",
    active: false,
  });
  const src = dataUri("image/svg+xml", SVG);
  await rejects(loadIcon({ src }), unsafe);
  const { mimeType, active } = await loadIcon({ src }, { allowSvg: true });
  deepEqual([mimeType, active], ["image/svg+xml", true]);
});

proves("icons:size-limit", {}, "without reading it all", async () => {
  let pulled = 0;
  let cancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++;
      controller.enqueue(pulled === 1 ? PNG : new Uint8Array(1024));
    },
    cancel() {
      cancelled = true;
    },
  });
  const { error } = await fetched("https://example.com/i.png", () => new Response(endless), { maxBytes: 10_000 });
  equal((error as { code?: string }).code, "unsafe_icon");
  ok(cancelled && pulled < 20);
  const large = new Uint8Array(20_000);
  large.set(PNG);
  await rejects(loadIcon({ src: dataUri("image/png", large) }, { maxBytes: 10_000 }), unsafe);
  ok((await loadIcon({ src: dataUri("image/png", large) }, { maxBytes: 20_000 })).bytes.length === 20_000);
});

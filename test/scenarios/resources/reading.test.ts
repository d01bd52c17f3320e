import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ResourceContents } from "bowline";
import { fileResource, resolveInside } from "bowline/node";
import { McpServer, resourceNotFound } from "bowline/server";
import * as z from "zod";
import { channelWires, eachWire, modernWires } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies("resources:read:text", eachWire, async ({ connect }) => {
  const server = new McpServer(me)
    .resource("note:1", { name: "a", mimeType: "text/markdown" }, () => "# hi")
    .resource("note:2", { name: "b", mimeType: "text/plain" }, () => ({ text: "own", mimeType: "text/x-own" }));
  const client = await connect(server);
  deepEqual((await client.readResource("note:1")).contents, [
    { uri: "note:1", mimeType: "text/markdown", text: "# hi" },
  ]);
  deepEqual((await client.readResource("note:2")).contents, [{ uri: "note:2", mimeType: "text/x-own", text: "own" }]);
});

verifies(["resources:read:blob", "resources:binary:encoded"], eachWire, async ({ connect }) => {
  const server = new McpServer(me).resource("bytes:{n}", { name: "b" }, ({ n }) => {
    const whole = Buffer.from([9, 9, 251, 255, 190, 0, 62, 9]);
    return n === "part" ? { blob: whole.subarray(2, 5) } : new Uint8Array(whole.subarray(2, 2 + Number(n)));
  });
  const client = await connect(server);
  const blob = async (n: string) => ((await client.readResource(`bytes:${n}`)).contents[0] as { blob: string }).blob;
  for (const n of [0, 1, 2, 3, 4, 5]) {
    equal(await blob(String(n)), Buffer.from([251, 255, 190, 0, 62]).subarray(0, n).toString("base64"));
  }
  equal(await blob("part"), "+/++");
});

verifies("resources:binary:encoded", "what is not base64 is not sent", eachWire, async ({ connect }) => {
  const errors: unknown[] = [];
  const server = new McpServer(me, { onError: (error) => errors.push(error) })
    .resource("bad:1", { name: "b" }, () => ({ blob: "not base64!" }))
    .tool("bad", {}, () => ({ content: [{ type: "image", data: "not base64!", mimeType: "image/png" }] }) as never);
  const client = await connect(server);
  await rejects(client.readResource("bad:1"), { rpcCode: -32603, message: "Internal error" });
  equal((await client.callTool("bad")).isError, true);
  equal(errors.length > 0, true);
});

verifies("resources:read:multiple-contents", eachWire, async ({ connect }) => {
  const contents: ResourceContents[] = [
    { uri: "dir:/b", text: "b" },
    { uri: "dir:/a", blob: "AAE=" },
    { uri: "dir:/c", text: "c", mimeType: "text/plain" },
  ];
  const client = await connect(new McpServer(me).resource("dir:/", { name: "d" }, () => ({ contents })));
  deepEqual((await client.readResource("dir:/")).contents, contents);
});

verifies("resources:read:template-vars", eachWire, async ({ connect }) => {
  const seen: unknown[] = [];
  const server = new McpServer(me)
    .resource("user://{id}/{name}", { name: "u" }, (variables) => {
      seen.push(variables);
      return "u";
    })
    .resource("item://{id}", { name: "i", variables: z.object({ id: z.coerce.number() }) }, ({ id }) => {
      const number: number = id;
      seen.push(number);
      return "i";
    });
  const client = await connect(server);
  await client.readResource("user://7/a%20b%2Fc");
  await client.readResource("item://42");
  deepEqual(seen, [{ id: "7", name: "a b/c" }, 42]);
  await rejects(client.readResource("item://many"), { rpcCode: -32602 });
  equal(seen.length, 2);
});

verifies("resources:read:static-before-template", eachWire, async ({ connect }) => {
  const read = async (server: McpServer, uri: string) =>
    ((await (await connect(server)).readResource(uri)).contents[0] as { text: string }).text;
  const fixed = (server: McpServer) => server.resource("n://a", { name: "s" }, () => "static");
  const any = (server: McpServer) => server.resource("n://{x}", { name: "t" }, () => "any");
  const path = (server: McpServer) => server.resource("n://{+x}", { name: "p" }, () => "path");
  equal(await read(fixed(any(new McpServer(me))), "n://a"), "static");
  equal(await read(any(fixed(new McpServer(me))), "n://a"), "static");
  equal(await read(any(path(new McpServer(me))), "n://b"), "path");
  equal(await read(path(any(new McpServer(me))), "n://b"), "any");
});

const missing = ["NOTE:%41", "note://x/y/", "note:Z"];

verifies(
  [
    "resources:read:unknown-uri",
    "resources:read:unknown-uri:legacy-code",
    "resources:read:unknown-uri:data-uri",
    "resources:read:no-empty-for-missing",
  ],
  eachWire,
  async ({ connect, era }) => {
    const rpcCode = era === "legacy" ? -32002 : -32602;
    const server = new McpServer(me)
      .resource("gone:{id}", { name: "g" }, ({ id }, _, uri) => {
        if (id === "thrown") throw resourceNotFound(uri);
        return id === "empty" ? { contents: [] } : undefined;
      })
      .resource("off:1", { name: "o" }, () => "x");
    server.edit.resource("off:1").disable();
    const client = await connect(server);
    for (const uri of [...missing, "gone:thrown", "gone:undefined", "off:1"]) {
      await rejects(client.readResource(uri), { rpcCode, data: { uri } });
    }
    deepEqual((await client.readResource("gone:empty")).contents, []);
  },
);

verifies("resources:uri:validate", channelWires, async (world) => {
  let ran = 0;
  const server = new McpServer(me).resource("{+any}", { name: "any" }, () => {
    ran++;
    return "x";
  });
  const client = await AskedClient.open(world, server);
  for (const uri of ["", "no-scheme", "http://[", "note:a\u0000b", "note:a\nb", "note:a b"]) {
    equal((await client.request("resources/read", { uri })).error?.code, -32602, uri);
    const subscribed =
      world.era === "legacy"
        ? await client.request("resources/subscribe", { uri })
        : await client.request("subscriptions/listen", { notifications: { resourceSubscriptions: [uri] } });
    equal(subscribed.error?.code, -32602, uri);
  }
  equal(ran, 0);
});

proves("resources:uri:custom-scheme", {}, "at registration", () => {
  const define = (uri: string) => new McpServer(me).resource(uri, { name: "r" }, () => "x");
  for (const uri of ["git+ssh://h/r", "x-custom.v1:thing", "note:{id}", "x-1://{a}/{b}"]) define(uri);
  for (const uri of ["1abc:x", "my_scheme:x", "a:b with spaces", "1abc:{x}", "my_scheme://{x}", "relative/{x}"]) {
    throws(() => define(uri), /scheme|absolute URI/, uri);
  }
});

verifies("resources:uri:exact-match", eachWire, async ({ connect }) => {
  const server = new McpServer(me)
    .resource("note:A", { name: "upper" }, () => "upper")
    .resource("note:a", { name: "lower" }, () => "lower")
    .resource("file:///b", { name: "b" }, () => "b")
    .resource("HTTP://Example.TEST:80/%7e", { name: "odd" }, () => "odd");
  const client = await connect(server);
  const read = async (uri: string) => (await client.readResource(uri)).contents[0];
  deepEqual(await read("note:A"), { uri: "note:A", text: "upper" });
  deepEqual(await read("note:a"), { uri: "note:a", text: "lower" });
  deepEqual(await read("HTTP://Example.TEST:80/%7e"), { uri: "HTTP://Example.TEST:80/%7e", text: "odd" });
  await rejects(read("file:///a/../b"), /not found/);
  await rejects(read("http://example.test/~"), /not found/);
});

verifies("resources:read:input-required", modernWires, async ({ connect }) => {
  let asked = 0;
  const server = new McpServer(me).resource("secret:1", { name: "s", cache: { ttlMs: 60_000 } }, async (_, ctx) => {
    const { action } = await ctx.elicit("Sure?", { type: "object", properties: {} });
    return `said ${action}`;
  });
  const client = await connect(server, {
    onElicit: () => {
      asked++;
      return { action: "decline" };
    },
  });
  for (let read = 1; read <= 2; read++) {
    deepEqual((await client.readResource("secret:1")).contents, [{ uri: "secret:1", text: "said decline" }]);
    equal(asked, read);
  }
  const [interim] = client.wire.responsesTo("resources/read");
  equal(interim?.result?.resultType, "input_required");
  equal(interim?.result?.ttlMs, undefined);
});

proves("resources:file:safe-join", {}, "nothing outside is reached", async (t) => {
  const home = await mkdtemp(join(tmpdir(), "bowline-"));
  t.after(() => rm(home, { recursive: true }));
  const app = join(home, "app");
  await mkdir(join(app, "docs"), { recursive: true });
  await mkdir(join(home, "app-secret"));
  await writeFile(join(app, "docs", "a.md"), "# a");
  await writeFile(join(home, "app-secret", "key"), "key");
  await symlink(join(home, "app-secret"), join(app, "out"));
  await symlink(join(app, "docs"), join(app, "in"));
  const outside = [
    "out/key",
    "../app-secret/key",
    "docs/../../app-secret/key",
    join(home, "app-secret", "key"),
    "a\0.md",
  ];
  for (const path of [...outside, "..", "C:\\x", "\\\\srv\\share", "missing"]) {
    equal(await resolveInside(app, path), undefined, path);
  }
  equal((await resolveInside(app, "docs/a.md"))?.endsWith("a.md"), true);
  equal((await resolveInside(app, "in/a.md"))?.endsWith("a.md"), true);
  const server = new McpServer(me, { resources: { unsafePaths: true } }).resource(
    "app:///{+path}",
    { name: "files" },
    fileResource(app),
  );
  const read = fileResource(app);
  equal(await read({ path: "docs/a.md" }, undefined, "app:///docs/a.md"), "# a");
  await rejects(read({ path: "out/key" }, undefined, "app:///out/key"), { rpcCode: -32002 });
  await server.close();
});

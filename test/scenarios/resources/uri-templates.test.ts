import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { matchUri } from "#src/server/definitions/uri-match.js";
import { parseUriTemplate } from "#src/server/definitions/uri-template.js";
import { cpuTime } from "../../support/cpu-time.js";
import { eachWire, type World } from "../../support/each-wire.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
type Case = readonly [template: string, uri: string, values: Record<string, string | string[]> | undefined];

const MATCHING: { readonly [id: string]: readonly Case[] } = {
  "uri-template:match:simple-stops-at-slash": [
    ["books://{id}", "books://1", { id: "1" }],
    ["books://{id}", "books://1/extra", undefined],
    ["books://{id}", "books://1?q", undefined],
    ["books://{id}", "books://1#f", undefined],
  ],
  "uri-template:match:reserved-crosses-slash": [["docs://{+path}", "docs://a/b/c.md", { path: "a/b/c.md" }]],
  "uri-template:match:query-lenient": [
    ["x://h{?limit,sort}", "x://h?sort=up&limit=5", { sort: "up", limit: "5" }],
    ["x://h{?limit,sort}", "x://h?limit=5&sort=up", { sort: "up", limit: "5" }],
    ["x://h{?limit,sort}", "x://h?limit=5", { limit: "5" }],
    ["x://h{?limit,sort}", "x://h", {}],
    ["x://h{?limit,sort}", "x://h?other=1&sort=up", { sort: "up" }],
  ],
  "uri-template:match:explode-list": [["x://h{/path*}", "x://h/a/b%2Fc//d", { path: ["a", "b/c", "", "d"] }]],
  "uri-template:match:decode-once": [
    ["x://{v}", "x://%252F", { v: "%2F" }],
    ["x://{v}", "x://a%2Fb", { v: "a/b" }],
    ["x://{v}", "x://%ZZ", undefined],
    ["x://{v}", "x://%FF", undefined],
  ],
  "uri-template:match:literals-exact": [
    ["a.b+c(1)://{x}", "a.b+c(1)://y", { x: "y" }],
    ["a.b+c(1)://{x}", "aXb+c(1)://y", undefined],
    ["a.b+c(1)://{x}", "a.bb+c(1)://y", undefined],
    ["a.b+c(1)://{x}", "a.b+c1://y", undefined],
    ["a.b+c(1)://{x}", "za.b+c(1)://y", undefined],
    ["x://{a}/end", "x://1/end2", undefined],
  ],
};

for (const [id, cases] of Object.entries(MATCHING)) {
  for (const [template, uri, values] of cases) {
    proves(id, {}, `${template} against ${uri}`, () => deepEqual(matchUri(parseUriTemplate(template), uri), values));
  }
}

proves("uri-template:bounds", {}, "a long URI costs no more than its length", () => {
  const hard = ["x://{a}-{b}-{c}-{d}-{e}", "x://{+p}{.e}", "x://h{/s*}", "x://{a,b,c,d}"].map((text) =>
    parseUriTemplate(text),
  );
  const uris = ["-", "/", ".", ",", "a-"].map((unit) => `x://${unit.repeat(500_000)}`);
  const tookMs = cpuTime();
  for (const template of hard) for (const uri of uris) equal(matchUri(template, uri), undefined);
  for (const template of hard) for (const uri of uris) matchUri(template, uri.slice(0, 16_000));
  ok(tookMs() < 2_000, `took ${tookMs()} ms`);
});

/** A server with a family of files, and what its handlers were called with. */
function files(options: ConstructorParameters<typeof McpServer>[1] = {}, unsafePaths?: boolean | readonly string[]) {
  const seen: unknown[] = [];
  const handler = (variables: unknown) => {
    seen.push(variables);
    return "x";
  };
  const own = unsafePaths === undefined ? {} : { unsafePaths };
  const server = new McpServer(me, options)
    .resource("f://{+path}", { name: "files", ...own }, handler)
    .resource("o:{+path}", { name: "opaque" }, handler)
    .resource("l://h{/parts*}", { name: "lists" }, handler)
    .resource("two://{a}/{b}", { name: "two", ...(unsafePaths === undefined ? {} : { unsafePaths: ["a"] }) }, handler);
  return { server, seen };
}

async function refuses({ connect, era }: World, uris: readonly string[]): Promise<void> {
  const { server, seen } = files();
  const client = await connect(server);
  const rpcCode = era === "legacy" ? -32002 : -32602;
  for (const uri of uris)
    await rejects(client.readResource(uri), { rpcCode, message: "Resource not found", data: { uri } }, uri);
  deepEqual(seen, []);
}

verifies("uri-template:security:traversal", eachWire, async (world) => {
  const climbing = [
    "f://../etc",
    "f://a/../../b",
    "f://..%2Fetc",
    "f://%2E%2E/etc",
    "f://..%5Cetc",
    "l://h/a/%2E%2E/../x",
  ];
  await refuses(world, climbing);
  const { server, seen } = files();
  const client = await world.connect(server);
  for (const path of ["a/../b", "1.0..2.0", "HEAD~3..HEAD"]) await client.readResource(`f://${path}`);
  deepEqual(seen, [{ path: "a/../b" }, { path: "1.0..2.0" }, { path: "HEAD~3..HEAD" }]);
});

verifies("uri-template:security:absolute", eachWire, async (world) => {
  await refuses(world, ["f:///etc/passwd", "o:/etc/passwd", "o:%5C%5Csrv%5Cshare", "o:C:%5Cx", "o:C:x"]);
});

verifies("uri-template:security:null-byte", eachWire, async (world) => {
  await refuses(world, ["f://a%00.txt"]);
});

verifies("uri-template:security:no-fallthrough", eachWire, async ({ connect, era }) => {
  const ran: string[] = [];
  const server = new McpServer(me)
    .resource("f://{+path}", { name: "strict" }, () => {
      ran.push("strict");
      return "x";
    })
    .resource("{+any}", { name: "lax", unsafePaths: true }, () => {
      ran.push("lax");
      return "x";
    });
  const client = await connect(server);
  await rejects(client.readResource("f://../etc"), {
    rpcCode: era === "legacy" ? -32002 : -32602,
    message: "Resource not found",
    data: { uri: "f://../etc" },
  });
  deepEqual(ran, []);
  await client.readResource("g://../etc");
  deepEqual(ran, ["lax"]);
});

verifies("uri-template:security:exempt", eachWire, async ({ connect }) => {
  const own = files({}, ["path"]);
  const client = await connect(own.server);
  await client.readResource("f://../etc");
  await client.readResource("two://..%2Fa/b");
  await rejects(client.readResource("two://a/..%2Fb"), /not found/);
  await rejects(client.readResource("l://h/%2E%2E/x"), /not found/);
  equal(own.seen.length, 2);
  const all = files({ resources: { unsafePaths: true } });
  const wide = await connect(all.server);
  for (const uri of ["f://../etc", "two://..%2Fa/..%2Fb", "l://h/%2E%2E/x"]) await wide.readResource(uri);
  equal(all.seen.length, 3);
});

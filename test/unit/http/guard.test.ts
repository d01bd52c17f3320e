import { equal, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { createGuard, type GuardOptions } from "#src/http/guard.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";

function statusOf(headers: { host?: string | undefined; origin?: string }, options?: GuardOptions): number | undefined {
  return createGuard(options)(createArrayExchange({ headers }))?.status;
}

describe("guard: Host", () => {
  const served = [
    "localhost",
    "LOCALHOST:3000",
    "localhost.",
    "localhost.:80",
    "localhost:",
    "127.0.0.1",
    "127.0.0.1:65535",
    "[::1]",
    "[::1]:8080",
    "[0:0:0:0:0:0:0:1]",
    "a.localhost",
    "a.b.localhost:1",
  ];
  const refused = [
    "evil.example",
    "localhost.evil.example",
    "evillocalhost",
    "localhost@evil.example",
    "evil.example#localhost",
    "evil.example/localhost",
    "evil.example:80:localhost",
    "localhost evil",
    "localhost,evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "127.1",
    "0x7f.0.0.1",
    "::1",
    "[::2]",
    "[::1",
    "[::1]x",
    "[:::1]",
    "[::ffff:127.0.0.1]",
    ".localhost",
    "localhost..",
    "*.localhost",
    "",
    " ",
    "localhost:123456",
    "localhost:65536",
    "localhost:8a",
    "localh\u00f6st",
    "%6cocalhost",
    "0.0.0.0",
    `${"a".repeat(600)}.localhost`,
  ];
  for (const host of served) it(`serves ${JSON.stringify(host)}`, () => equal(statusOf({ host }), undefined));
  for (const host of refused) it(`refuses ${JSON.stringify(host.slice(0, 40))}`, () => equal(statusOf({ host }), 403));

  it("refuses a request without a host", () => equal(statusOf({ host: undefined }), 403));

  it("takes an explicit list instead of its own", () => {
    const options = { allowedHosts: ["Example.com", "api.example.com:8443", "*.apps.example.com", "fe80::1"] };
    equal(statusOf({ host: "example.com:9" }, options), undefined);
    equal(statusOf({ host: "EXAMPLE.COM." }, options), undefined);
    equal(statusOf({ host: "api.example.com:8443" }, options), undefined);
    equal(statusOf({ host: "api.example.com" }, options), 403);
    equal(statusOf({ host: "a.apps.example.com" }, options), undefined);
    equal(statusOf({ host: "apps.example.com" }, options), 403);
    equal(statusOf({ host: "evilapps.example.com" }, options), 403);
    equal(statusOf({ host: "[FE80:0::1]:1" }, options), undefined);
    equal(statusOf({ host: "localhost" }, options), 403);
  });

  it("is switched off explicitly only", () => {
    for (const allowedHosts of ["*", false, ["*"]] as const) {
      equal(statusOf({ host: "evil.example" }, { allowedHosts }), undefined);
      equal(statusOf({ host: undefined }, { allowedHosts }), undefined);
      equal(statusOf({ host: "evil.example", origin: "https://evil.example" }, { allowedHosts }), 403);
    }
    equal(statusOf({ host: "localhost" }, { allowedHosts: [] }), 403);
  });

  it("refuses entries that could never match", () => {
    for (const entry of ["https://example.com", "example.com/mcp", "", "*.", "a b", "[::1"]) {
      const message = `http.allowedHosts: ${JSON.stringify(entry)} is not a valid host, such as example.com`;
      throws(() => createGuard({ allowedHosts: [entry] }), { name: "DefinitionError", message });
    }
  });

  it("still refuses after it has served", () => {
    const guard = createGuard();
    const ask = (host: string) => guard(createArrayExchange({ headers: { host } }))?.status;
    equal(ask("localhost:1"), undefined);
    equal(ask("localhost:1"), undefined);
    equal(ask("evil.example"), 403);
    equal(ask("evil.example"), 403);
    equal(ask("localhost:1"), undefined);
  });
});

describe("guard: Origin", () => {
  const served = [
    "http://localhost",
    "https://LOCALHOST:3000",
    "http://127.0.0.1:5173",
    "http://[::1]:9",
    "https://app.localhost",
  ];
  const refused = [
    "https://evil.example",
    "http://localhost.evil.example",
    "http://evil-localhost",
    "null",
    "",
    "localhost",
    "localhost:80",
    "http://",
    "http://localhost/",
    "http://user@localhost",
    "http://localhost http://evil.example",
    "http://localhost, http://evil.example",
    "garbage",
    "//localhost",
    "ftp://localhost",
    "file://",
    "chrome-extension://localhost",
  ];
  for (const origin of served) it(`serves ${JSON.stringify(origin)}`, () => equal(statusOf({ origin }), undefined));
  for (const origin of refused) it(`refuses ${JSON.stringify(origin)}`, () => equal(statusOf({ origin }), 403));

  it("passes a request without an origin", () => equal(statusOf({}), undefined));

  it("compares whole origins exactly, and hosts on any port", () => {
    const allowedOrigins = [
      "https://app.example.com",
      "http://dev.example.com:5173",
      "tools.example.com",
      "https://*.example.org",
      "vscode-webview://abc",
      "null",
    ];
    const ask = (origin: string) => statusOf({ origin }, { allowedOrigins });
    equal(ask("https://app.example.com"), undefined);
    equal(ask("https://app.example.com:443"), undefined);
    equal(ask("https://app.example.com:8443"), 403);
    equal(ask("http://app.example.com"), 403);
    equal(ask("http://dev.example.com:5173"), undefined);
    equal(ask("http://dev.example.com"), 403);
    equal(ask("http://tools.example.com:1234"), undefined);
    equal(ask("https://a.example.org"), undefined);
    equal(ask("http://a.example.org"), 403);
    equal(ask("https://example.org"), 403);
    equal(ask("vscode-webview://abc"), undefined);
    equal(ask("null"), undefined);
    equal(ask("http://localhost"), 403);
  });

  it("is switched off explicitly only", () => {
    for (const allowedOrigins of ["*", false, ["*"]] as const) {
      equal(statusOf({ origin: "https://evil.example" }, { allowedOrigins }), undefined);
      equal(statusOf({ origin: "null" }, { allowedOrigins }), undefined);
      equal(statusOf({ host: "evil.example" }, { allowedOrigins }), 403);
    }
  });

  it("refuses entries that could never match", () => {
    for (const entry of ["https://example.com/app", "https://", "a b"]) {
      const message = `http.allowedOrigins: ${JSON.stringify(entry)} is not a valid origin or host, such as https://example.com`;
      throws(() => createGuard({ allowedOrigins: [entry] }), { name: "DefinitionError", message });
    }
  });

  it("names the value in the refusal, cut to size", () => {
    const refusal = createGuard()(createArrayExchange({ headers: { origin: `https://${"x".repeat(400)}` } }));
    equal(refusal?.message.startsWith('Origin "https://xxx'), true);
    equal((refusal?.message.length ?? 0) < 180, true);
    equal(refusal?.message.endsWith("is not allowed: add it to http.allowedOrigins of this server"), true);
  });
});

import { deepEqual, equal, notEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { createIssuer } from "bowline/auth/issuer";
import fc from "fast-check";
import { digestOf, sameText } from "#src/auth/crypto.js";
import { withParams } from "#src/auth/issuer/authorization-response.js";
import { Params } from "#src/auth/issuer/http.js";
import { html, shownText } from "#src/auth/issuer/pages/page.js";
import { isSecureUri, matchesRedirectUri, redirectUriProblem } from "#src/auth/issuer/redirect-uri.js";
import { narrowedAudience, requestedResources, requestedScopes } from "#src/auth/issuer/rules.js";
import { assertResource } from "#src/auth/resource.js";
import { scopesOf } from "#src/auth/scopes.js";
import { assertIssuers } from "#src/auth/server/documents.js";
import { parseWebAddress } from "#src/auth/web-address.js";
import { fromBase64Url, toBase64Url } from "#src/protocol/base64.js";

test("a redirect URI matches itself, and another only by the port on loopback", () => {
  const path = fc.string({ unit: fc.constantFrom("a", "A", "/", "?", "%", ".", "=") });
  fc.assert(
    fc.property(path, path, (a, b) => {
      equal(matchesRedirectUri(`https://a.example/${a}`, `https://a.example/${b}`), a === b);
    }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 65_535 }), fc.integer({ min: 0, max: 65_535 }), (a, b) => {
      equal(matchesRedirectUri(`http://localhost:${a}/cb`, `http://localhost:${b}/cb`), true);
      equal(matchesRedirectUri(`https://localhost:${a}/cb`, `https://localhost:${b}/cb`), a === b);
    }),
  );
});

test("no text that passes as a redirect URI has another scheme or hides another host", () => {
  const odd = fc.string({
    unit: fc.constantFrom("h", "t", "p", "s", ":", "/", "\\", "@", "#", "?", ".", "a", "l", "1", " ", "\t"),
  });
  fc.assert(
    fc.property(
      fc.constantFrom("http://localhost", "https://a.example", "http://127.0.0.1", ""),
      odd,
      (start, rest) => {
        const uri = `${start}${rest}`;
        if (redirectUriProblem(uri) !== undefined) return;
        const { protocol, hostname, username, hash } = new URL(uri);
        equal(username + hash, "");
        equal(protocol === "https:" || ["localhost", "127.0.0.1", "[::1]"].includes(hostname), true, uri);
      },
    ),
  );
});

test("an address that the URL parser reads in another way than it is written is none", () => {
  const odd = [
    "https:///user:pw@evil.example/cb",
    "https:///cb",
    "https:////cb",
    "https:/evil.example/cb",
    "https:evil.example/cb",
    "https://user@evil.example/cb",
    "https://user:pw@evil.example/cb",
    "https://@evil.example/cb",
    "https://a.example\\@evil.example/cb",
    "https:\\\\evil.example/cb",
    "https://a.example/x/../cb",
    "https://a.example/%2e%2E/cb",
    "https://a.example/c b",
    "https://a.ex\nample/cb",
    " https://a.example/cb",
    "https://a.example:0443/cb",
    "https://a%2eexample/cb",
    "https://ａ.example/cb",
    "https://0x7f.1/cb",
    "http://0177.0.0.1/cb",
    "http://127.1/cb",
    "http://[0::1]/cb",
  ];
  for (const uri of odd) {
    equal(parseWebAddress(uri), undefined, uri);
    notEqual(redirectUriProblem(uri), undefined, uri);
    equal(isSecureUri(uri), false, uri);
    equal(matchesRedirectUri("http://127.0.0.1/cb", uri), false, uri);
    throws(() => createIssuer({ issuer: uri, resources: ["https://a.example"], user: () => ({ id: "a" }) }), uri);
    throws(() => createIssuer({ issuer: "https://a.example", resources: [uri], user: () => ({ id: "a" }) }), uri);
    throws(() => assertIssuers([uri]), uri);
    // A resource has its port in any form.
    if (!uri.includes(":0443")) throws(() => assertResource(uri), uri);
  }
  for (const issuer of ["HTTPS://a.example", "https://A.example", "https://a.example:443", "https://a.example/?"]) {
    throws(
      () => createIssuer({ issuer, resources: ["https://a.example"], user: () => ({ id: "a" }) }),
      /must be a normalized URL/,
    );
  }
  const plain = [
    "https://a.example",
    "HTTPS://A.example:443/cb?x=%20&y",
    "http://[::1]:9/cb",
    "https://a.example?x",
    "http://localhost:80",
  ];
  for (const uri of plain) equal(redirectUriProblem(uri), undefined, uri);
  const part = fc.string({ unit: fc.constantFrom("/", "\\", "@", ":", ".", "%", "2e", "a", "?", "#", " ", "\t", "é") });
  fc.assert(
    fc.property(part, part, (host, rest) => {
      const uri = `https://${host}a.example${rest}`;
      const url = parseWebAddress(uri);
      if (url === undefined) return;
      equal(url.username + url.password, "");
      equal(uri.slice(0, url.origin.length).toLowerCase(), url.origin);
    }),
  );
});

test("an answer is appended, and read back as it was", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.constantFrom("https://a.example/", "https://a.example/?x=1&x=2", "https://a.example?"),
      (state, uri) => {
        const { searchParams } = new URL(withParams(uri, { code: "c", state, iss: undefined }));
        equal(searchParams.get("code"), "c");
        equal(searchParams.get("state"), new URLSearchParams([["s", state]]).get("s"));
        equal(searchParams.has("iss"), false);
        deepEqual(searchParams.getAll("x"), new URL(uri).searchParams.getAll("x"));
      },
    ),
  );
});

test("a resource has many spellings, and is told as this server spells it", () => {
  const found = (named: string) => requestedResources([named], ["https://a.example/mcp"], undefined);
  for (const same of ["HTTPS://A.example/mcp", "https://a.example:443/mcp", "https://a.example/mcp/"]) {
    deepEqual(found(same), ["https://a.example/mcp"], same);
  }
  const others = ["https://a.example/MCP", "https://a.example/mcp?x=1", "https://a.example", "http://a.example/mcp"];
  const odd = ["mcp", "/mcp", "https://a.example/mcp#x", "https://u@a.example/mcp", "https://a.example:99999/mcp"];
  for (const other of [...others, ...odd, "https://a.example/x/../mcp"]) {
    throws(() => found(other), { code: "invalid_target" }, other);
  }
  deepEqual(
    requestedResources(["https://A.example/mcp", "https://a.example/mcp/"], ["https://a.example/mcp"], undefined),
    ["https://a.example/mcp"],
  );
  deepEqual(narrowedAudience([], ["a:b", "c:d"]), ["a:b", "c:d"]);
  throws(() => narrowedAudience(["https://b.example"], ["https://a.example"]), /resource/);
});

test("scopes are what server, client and request have in common", () => {
  const limits = { supported: ["a", "b"], defaults: ["a"], registered: undefined };
  deepEqual(requestedScopes(undefined, limits), ["a"]);
  deepEqual(requestedScopes(" b  a b ", limits), ["b", "a"]);
  throws(() => requestedScopes("c", limits), { code: "invalid_scope" });
  deepEqual(requestedScopes(undefined, { ...limits, registered: ["b"] }), []);
  throws(() => requestedScopes("a", { ...limits, registered: ["b"] }), { code: "invalid_scope" });
  deepEqual(scopesOf(undefined), []);
});

test("text that is put into a page can end neither an element nor an attribute", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      equal(/[<>"'`]/.test(html`${text}`.text), false);
    }),
  );
  equal(shownText("a\u202eb\u0000c\n\n d"), "a b c d");
  equal([...shownText("🚀".repeat(500))].length, 121);
  equal(html`<p title="${'"><script>'}">`.text, '<p title="&quot;&gt;&lt;script&gt;">');
});

test("texts are compared whole", async () => {
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => equal(sameText(a, b), a === b)));
  equal(sameText("", "a"), false);
  equal(sameText("aa", "a"), false);
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => deepEqual(fromBase64Url(toBase64Url(bytes)), Uint8Array.from(bytes))),
  );
  equal(await digestOf("abc"), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
});

test("a form with thousands of parameters is looked through once", () => {
  let looks = 0;
  class Counted extends URLSearchParams {
    override getAll(name: string): string[] {
      looks++;
      return super.getAll(name);
    }
    override keys(): URLSearchParamsIterator<string> {
      looks++;
      return super.keys();
    }
  }
  const names = Array.from({ length: 5_000 }, (_, index) => index.toString(36));
  equal(new Params(new Counted(names.join("&"))).repeated(), undefined);
  equal(looks, 1);
  equal(new Params(new URLSearchParams("a&b&resource=1&resource=2&b")).repeated(), "b");
  equal(new Params(new URLSearchParams("a&b&b&a")).repeated(["a", "c"]), "a");
  equal(new Params(new URLSearchParams("a&b&b")).repeated(["a"]), undefined);
});

import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { followSameOrigin } from "#src/http/client/send.js";

/** Follows redirects of a server that redirects so often, and tells each address that was asked. */
async function follow(redirects: number, maxHops?: number, status = 307, isGet = false) {
  const asked: string[] = [];
  const send = async (url: URL) => {
    const at = asked.push(url.pathname) - 1;
    return at < redirects ? new Response(null, { status, headers: { location: `/${at + 1}` } }) : new Response("there");
  };
  const reply = await followSameOrigin(new URL("http://localhost/0"), isGet, send, maxHops);
  return { asked, status: reply.status };
}

test("as many redirects are followed as are allowed, and not one more", async () => {
  deepEqual(await follow(5), { asked: ["/0", "/1", "/2", "/3", "/4", "/5"], status: 200 });
  deepEqual(await follow(6), { asked: ["/0", "/1", "/2", "/3", "/4", "/5"], status: 307 });
  deepEqual(await follow(2, 2), { asked: ["/0", "/1", "/2"], status: 200 });
  deepEqual(await follow(3, 2), { asked: ["/0", "/1", "/2"], status: 307 });
  deepEqual(await follow(1, 0), { asked: ["/0"], status: 307 });
});

test("a redirect that would change the method is followed for GET alone", async () => {
  for (const status of [301, 302]) {
    equal((await follow(1, undefined, status, true)).status, 200);
    equal((await follow(1, undefined, status, false)).status, status);
  }
  equal((await follow(1, undefined, 303, true)).status, 303);
  equal((await follow(1, undefined, 308, false)).status, 200);
});

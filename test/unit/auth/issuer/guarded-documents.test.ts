import { equal } from "node:assert/strict";
import dns from "node:dns";
import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { createIssuer } from "bowline/auth/issuer";

/** Every name stands for this address. */
const toAddress =
  (address: string) => (_name: string, options: dns.LookupOptions, done: (...outcome: unknown[]) => void) =>
    process.nextTick(() => (options.all === true ? done(null, [{ address, family: 4 }]) : done(null, address, 4)));

const LOOPBACK = "127.0.0.1";
/** It is private, no loopback address, and leads to this machine all the same. */
const ANY = "0.0.0.0";
const allowLoopback = true;

for (const [what, clientDocuments, address, connections] of [
  ["by default no name that stands for a private address is connected to", true, LOOPBACK, 0],
  ["a fetch of the author's own decides for itself", { fetch: globalThis.fetch as never }, LOOPBACK, 1],
  ["those on this machine can be allowed", { allowLoopback }, LOOPBACK, 1],
  ["those on this machine are allowed alone", { allowLoopback }, ANY, 0],
] as const) {
  test(`documents of clients: ${what}`, async (t) => {
    let connected = 0;
    const inside = createServer((socket) => {
      connected++;
      socket.on("error", () => {});
      socket.destroy();
    }).listen(0, "127.0.0.1");
    t.after(() => inside.close());
    await once(inside, "listening");
    const mocked = t.mock.method(dns, "lookup", toAddress(address) as never);
    syncBuiltinESMExports();
    t.after(() => {
      mocked.mock.restore();
      syncBuiltinESMExports();
    });
    const issuer = createIssuer({
      issuer: "https://as.example",
      resources: ["https://mcp.example/mcp"],
      user: () => ({ id: "ada" }),
      clientDocuments,
    });
    const { port } = inside.address() as AddressInfo;
    const asked = new URL("https://as.example/authorize");
    asked.searchParams.set("client_id", `https://docs.example:${port}/client.json`);
    asked.searchParams.set("response_type", "code");
    const { status } = await issuer.fetch(new Request(asked));
    equal(status, 400);
    equal(connected, connections);
  });
}

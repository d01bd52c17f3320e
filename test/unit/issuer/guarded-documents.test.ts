import { equal } from "node:assert/strict";
import dns from "node:dns";
import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { createIssuer, type IssuerOptions } from "bowline/auth/issuer";

/** Every name of `.example` stands for this machine. */
const toLoopback = (_name: string, options: dns.LookupOptions, done: (...outcome: unknown[]) => void) =>
  process.nextTick(() =>
    options.all === true ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4),
  );

for (const [what, fetch, connections] of [
  ["by default no name that stands for a private address is connected to", undefined, 0],
  ["a fetch of the author's own decides for itself", globalThis.fetch as never, 1],
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
    const mocked = t.mock.method(dns, "lookup", toLoopback as never);
    syncBuiltinESMExports();
    t.after(() => {
      mocked.mock.restore();
      syncBuiltinESMExports();
    });
    const documents: Partial<IssuerOptions> = fetch === undefined ? {} : { clientDocuments: { fetch } };
    const issuer = createIssuer({
      issuer: "https://as.example",
      resources: ["https://mcp.example/mcp"],
      user: () => ({ id: "ada" }),
      ...documents,
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

// A program that shares its tokens with others of its kind. Arguments: where all requests go, the MCP server's address, the
// file with the tokens, its secret. Says "ready", waits for a line, sends one request and tells how it ended.
import { once } from "node:events";
import { oauth } from "bowline/auth/client";
import { fileStore } from "bowline/node";

const [base, server, file, secret] = process.argv.slice(2);
const auth = oauth({
  store: fileStore(file, secret),
  redirectUrl: "http://127.0.0.1:9/callback",
  authorize: () => undefined,
  fetch(url, init) {
    const { origin, pathname, search } = new URL(url);
    const headers = new Headers(init.headers);
    headers.set("x-asked-origin", origin);
    return fetch(`${base}${pathname}${search}`, { ...init, headers });
  },
});
process.stdout.write("ready\n");
await once(process.stdin, "data");
const response = await auth.fetch(server, { method: "POST", body: "{}" });
process.stdout.write(`${response.status === 401 ? "refused" : "served"}\n`);
process.exit(0);

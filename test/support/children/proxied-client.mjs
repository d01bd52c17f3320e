// A client that calls the tool "echo" of the server at its first argument and tells how that ended, and how many connections
// of it are open at its end. With a second argument it gets a token first, from that issuer.
import { subscribe } from "node:diagnostics_channel";
import { clientCredentials, oauth } from "bowline/auth/client";
import { connect } from "bowline/client";

const [server, issuer] = process.argv.slice(2);
const credentials = { grant: clientCredentials(), client: { id: "machine", secret: "between-us" } };
const auth = issuer === undefined ? {} : oauth({ issuer, ...credentials, allowInsecure: true });
let open = 0;
subscribe("net.client.socket", ({ socket }) => {
  open++;
  socket.once("close", () => open--);
});
try {
  const client = await connect(server, { ...auth, timeoutMs: 20_000 });
  const first = await client.callTool("echo", {});
  const second = await client.callTool("echo", {});
  await client.close();
  // An idle connection does not keep the process, and a closed one tells so before its end.
  process.once("exit", () => process.stdout.write(JSON.stringify({ said: [first.text, second.text], open })));
} catch ({ message, delivery }) {
  process.stdout.write(JSON.stringify({ message, delivery }));
}

// A client that calls the tool "echo" of the server at its first argument and tells how that ended. With a second argument it
// gets a token first, from that issuer.
import { clientCredentials, oauth } from "bowline/auth/client";
import { connect } from "bowline/client";

const [server, issuer] = process.argv.slice(2);
const credentials = { grant: clientCredentials(), client: { id: "machine", secret: "between-us" } };
const auth = issuer === undefined ? {} : oauth({ issuer, ...credentials, allowInsecure: true });
try {
  const client = await connect(server, { ...auth, timeoutMs: 20_000 });
  const first = await client.callTool("echo", {});
  const second = await client.callTool("echo", {});
  await client.close();
  process.stdout.write(JSON.stringify({ said: [first.text, second.text] }));
} catch ({ message, delivery }) {
  process.stdout.write(JSON.stringify({ message, delivery }));
}

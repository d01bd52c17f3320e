// A host that hands on its server's stderr as told. Arguments: what to do with stderr, the server's program and arguments.
import { connect } from "bowline/client";

const [stderr, ...args] = process.argv.slice(2);
const client = await connect({ command: process.execPath, args, stderr }, { versions: ["2026-07-28"] });
await client.callTool("any");
await client.close();

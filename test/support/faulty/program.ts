import { serverOf } from "./faults.js";
import { serveStdio } from "./stdio.js";

// Serves stdio, with the fault of the rule that the argument names; without an argument, without a fault.
const { server, stdio } = serverOf(process.argv[2]);
await serveStdio(server, stdio);

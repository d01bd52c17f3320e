import { FAULTS, healthyParts } from "./faults.js";
import { serveStdio } from "./stdio.js";

// Serves stdio, with the fault of the rule that the argument names; without an argument, without a fault.
const parts = healthyParts();
FAULTS[process.argv[2] ?? ""]?.change(parts);
await serveStdio(parts.server, parts.stdio);

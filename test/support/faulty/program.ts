import { systemClock } from "#src/call/clock.js";
import { FAULTS, healthyParts } from "./faults.js";
import { serveHttp } from "./http.js";
import { serveStdio } from "./stdio.js";

// Serves stdio, or HTTP with "http" as the first argument, with the fault of the rule that the second argument names. Writes its
// URL to stdout then.
const [wire, rule = ""] = process.argv.slice(2);
const parts = healthyParts();
FAULTS[rule]?.change(parts);
if (wire === "http") {
  const running = await serveHttp(parts.server, parts.http, systemClock);
  process.on("SIGTERM", () => running.terminate());
  process.stdout.write(`${running.url}\n`);
} else await serveStdio(parts.server, parts.stdio);

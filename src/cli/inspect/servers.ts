import type { InspectTarget } from "../../inspect/connection.js";
import { type ServerPlan, toldUrl } from "../target.js";

/** Returns what the inspector connects to, for a server of the command line. */
export function inspectTarget({ label, targets, options }: ServerPlan): InspectTarget {
  const [first] = targets;
  if (typeof first === "string") return { label, wire: "http", url: toldUrl(first), targets, options };
  const wire = first !== undefined && "command" in first ? "stdio" : "memory";
  return { label, wire, targets, options };
}

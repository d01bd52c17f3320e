import { join } from "node:path";
import type { Io } from "./io.js";

type Where = Pick<Io, "env" | "home" | "platform">;

/** Returns the folder of what the command can do without, such as tools for completion. */
export function cacheFolder({ env, home, platform }: Where): string {
  if (env.BOWLINE_HOME) return join(env.BOWLINE_HOME, "cache");
  if (platform === "win32") return join(env.LOCALAPPDATA || join(home, "AppData", "Local"), "bowline", "cache");
  if (platform === "darwin") return join(home, "Library", "Caches", "bowline");
  return join(env.XDG_CACHE_HOME || join(home, ".cache"), "bowline");
}

/** Returns the folder of what the command has to keep: logins. */
export function stateFolder({ env, home, platform }: Where): string {
  if (env.BOWLINE_HOME) return join(env.BOWLINE_HOME, "state");
  if (platform === "win32") return join(env.LOCALAPPDATA || join(home, "AppData", "Local"), "bowline", "state");
  if (platform === "darwin") return join(home, "Library", "Application Support", "bowline");
  return join(env.XDG_STATE_HOME || join(home, ".local", "state"), "bowline");
}

/**
 * Returns a name of a file for a text that may have a secret (FNV-1a). A cryptographic digest would need a module of Node
 * that takes longer to load than a tool call.
 */
export function fileNameFor(text: string): string {
  let [one, two] = [0x811c9dc5, 0xc9dc5811];
  for (const unit of new TextEncoder().encode(text)) {
    one = Math.imul(one ^ unit, 0x01000193);
    two = Math.imul(two ^ unit, 0x01000193) ^ (two >>> 15);
  }
  return [one, two].map((part) => (part >>> 0).toString(16).padStart(8, "0")).join("");
}

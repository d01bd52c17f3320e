/**
 * Rust's official SDK, a program with one thread. Serves `echo` and the list. Clients of the older versions get JSON
 * without sessions only.
 */
export const peer = {
  wires: ["http modern", "http legacy sse"],
  sessionless: ["http legacy json"],
  cancels: {},
  native: { tool: "cargo", folder: "rust", version: /name = "rmcp"\nversion = "([^"]+)"/, lock: "Cargo.lock" },
  can: ["echo", "list"],
};

/** Rust's official SDK, a program with one thread. Serves `echo` and the list. */
export const peer = {
  wires: ["http modern", "http legacy json", "http legacy sse"],
  cancels: {},
  native: { tool: "cargo", folder: "rust", version: /name = "rmcp"\nversion = "([^"]+)"/, lock: "Cargo.lock" },
  can: ["echo", "list"],
};

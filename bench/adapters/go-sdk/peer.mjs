/** Go's official SDK, a program that runs on one core. Serves `echo` and the list. */
export const peer = {
  wires: ["http modern", "http legacy json", "http legacy sse"],
  cancels: {},
  native: { tool: "go", folder: "go", version: /modelcontextprotocol\/go-sdk v(\S+)/, lock: "go.mod" },
  can: ["echo", "list"],
};

// A scripted server that acknowledges subscriptions, tells of them on stderr, and sends a change to each. Any other call
// ends it with code 7.
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const key = "io.modelcontextprotocol/subscriptionId";
let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    if (method !== "subscriptions/listen") process.exit(7);
    process.stderr.write(`listen ${id} ${JSON.stringify(params.notifications)}\n`);
    const _meta = { [key]: id };
    write({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: params.notifications, _meta },
    });
    write({ method: "notifications/tools/list_changed", params: { _meta } });
  }
});

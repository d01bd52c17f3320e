/** Responds to each line. `check` stands for the schema. */
export function serveLines(check) {
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
      if (id === undefined) continue;
      const result =
        method === "initialize"
          ? {
              protocolVersion: params.protocolVersion,
              capabilities: { tools: {} },
              serverInfo: { name: "a", version: "1" },
            }
          : { content: [{ type: "text", text: check(params.arguments).text }] };
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
    }
  });
}

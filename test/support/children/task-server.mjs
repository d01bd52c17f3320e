// A server on stdio whose tool `work` becomes a task. A subscription to the task is told that it has completed.
// Requests for its state say that it works.
import { serveStdio } from "bowline/node";
import { McpServer, ServerExtension } from "bowline/server";

const task = {
  taskId: "t",
  status: "working",
  createdAt: "2026-11-01T00:00:00Z",
  lastUpdatedAt: "2026-11-01T00:00:00Z",
  ttlMs: null,
};
const result = { resultType: "complete", content: [{ type: "text", text: "told" }] };
const tasks = new ServerExtension({ id: "io.modelcontextprotocol/tasks", results: { task: "tools/call" } });
tasks.method("tasks/get", { nameFrom: "taskId" }, () => task);
tasks.topic("taskIds", (honoured) => ({
  honoured,
  start: (send) => {
    const told = setImmediate(() => send("notifications/tasks", { ...task, status: "completed", result }));
    return () => clearImmediate(told);
  },
}));
tasks.use(async (call, next) => {
  const answer = await next(call);
  return call.method === "tools/call" ? { resultType: "task", ...task } : answer;
});
await serveStdio(new McpServer({ name: "tasks", version: "1.0.0" }).extend(tasks).tool("work", {}, () => "plain"));

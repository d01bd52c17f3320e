import { connect, RpcError } from "bowline/client";
import { ClientTasks, type TaskHandle as Handle, TaskError, tasksClient } from "bowline/tasks/client";
import type { OpenTaskDriver, TaskHandle } from "./driver.js";

/** Bowline's own client. */
export const openBowline: OpenTaskDriver = async (target, choice) => {
  const client = await connect(target.wire === "http" ? target.url : { command: target.command, args: target.args }, {
    info: { name: "interop-bowline", version: "1.0.0" },
    era: choice,
    extensions: [tasksClient()],
    onElicit: () => ({ action: "accept", content: { name: "Ada" } }),
  });
  const owned = new ClientTasks(client);
  // In 2025-11-25 it asks for tasks of the tools that a list has shown.
  if (choice === "legacy") await client.tools().all();
  const handleOf = (task: Handle): TaskHandle => {
    const { id } = task;
    if (id === undefined) throw new Error("the call did not become a task");
    return {
      id,
      // The handle keeps the last state that it has seen, and sees none after its cancellation.
      status: async () => (await client.request("tasks/get", { taskId: id })).status as string,
      async result() {
        const { text, isError } = await task.result;
        return { text, isError };
      },
      cancel: () => task.cancel(),
    };
  };
  return {
    version: client.version,
    announced: owned.supported === true,
    async call(name, args = {}) {
      const { text, isError } = await client.callTool(name, args);
      return { text, isError };
    },
    start: async (name, args = {}) => handleOf(await owned.startTool(name, args)),
    resume: async (id) => handleOf(await owned.task(id)),
    list: async () => (await owned.list().all()).map(({ taskId }) => taskId),
    codeOf(error) {
      const cause = error instanceof TaskError ? error.cause : error;
      return cause instanceof RpcError ? cause.rpcCode : undefined;
    },
    close: () => client.close(),
  };
};

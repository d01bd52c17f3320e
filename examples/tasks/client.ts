import { connect } from "bowline/client";
import { ClientTasks, tasksClient } from "bowline/tasks/client";

/**
 * Client that runs a task and follows it to its end, even if the server is killed and started again meanwhile. With an id
 * it takes a task up: `node client.js [url] [id]`.
 */
const [url = "http://127.0.0.1:3000/mcp", id] = process.argv.slice(2);

const client = await connect(url, {
  extensions: [tasksClient({ limits: { maxFailedPolls: 120 } })], // requests that may fail in a row, while the server is away
  onElicit: ({ message }) => {
    console.log(`${message} yes`);
    return { action: "accept", content: {} };
  },
});
const started = new ClientTasks(client);
const task = id === undefined ? await started.startTool("survey", { harbour: "north" }) : await started.task(id);
console.log(`task ${task.id}`);

let shown = "";
for await (const { status, statusMessage = status } of task) {
  if (statusMessage !== shown) console.log(statusMessage);
  shown = statusMessage;
}
console.log((await task.result).text);
await client.close();

import { parseArgs } from "node:util";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { addAskingTools } from "./server/asking-tools.js";
import { addInputRequired } from "./server/input-required.js";
import { addPrompts } from "./server/prompts.js";
import { addResources } from "./server/resources.js";
import { addSkills } from "./server/skills.js";
import { addTasks } from "./server/tasks.js";
import { addTools } from "./server/tools.js";

/** Server that the conformance suite tests, for both eras on one endpoint: `node dist/server.js --port 0`. */
const { values } = parseArgs({ options: { port: { type: "string", default: "0" } } });

const server = new McpServer(
  { name: "bowline-conformance", version: "1.0.0" },
  { capabilities: { logging: true }, http: { resumable: true, retryMs: 100 } },
);
addTools(server);
addAskingTools(server);
addInputRequired(server);
addResources(server);
addPrompts(server);
addSkills(server);
addTasks(server);

const running = await serveHttp(server, { port: Number(values.port) });
process.once("SIGTERM", () => void running.close());
console.log(`listening on ${running.url}`);

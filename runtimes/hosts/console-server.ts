import { serveStdio } from "bowline/node";
import { McpServer } from "bowline/server";

const early = { log: console.log.bind(console), info: console.info };

/** Prints in all ways that a program has, while a call runs. */
function print(way: string): void {
  console.log("noise: log", { way });
  console.info("noise: info");
  console.debug("noise: debug");
  console.table([{ noise: "table" }]);
  console.dir({ noise: "dir" });
  console.dirxml("noise: dirxml");
  console.group("noise: group");
  console.log("noise: inner");
  console.groupEnd();
  console.groupCollapsed("noise: collapsed");
  console.groupEnd();
  console.count("noise: count");
  console.time("noise: time");
  console.timeLog("noise: time");
  console.timeEnd("noise: time");
  process.stdout.write("noise: write\n");
  early.log("noise: bound early");
  early.info("noise: taken early");
  const { log } = console;
  log("noise: taken late");
  (console as { write?: (text: string) => void }).write?.("noise: console.write\n");
}

const server = new McpServer({ name: "console", version: "1.0.0" }, { logger: console }).tool("print", {}, () => {
  print("handler");
  throw new Error("noise: reported to the logger");
});

await serveStdio(server);
console.log("after: log");
early.log("after: bound early");
console.table([{ after: "table" }]);

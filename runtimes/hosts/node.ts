import { runSuite } from "../suite.js";
import { checkConsole } from "./console.js";
import { nodeWires } from "./node-wires.js";

const outcomes = await runSuite(nodeWires(process.execPath));
console.log(JSON.stringify([...outcomes, await checkConsole(process.execPath)]));

import { runSuite } from "../suite.js";
import { nodeWires } from "./node-wires.js";

console.log(JSON.stringify(await runSuite(nodeWires(process.execPath))));

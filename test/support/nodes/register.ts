import { register } from "node:module";
// Loads the wire before all tests, so that it ends with the last of them.
import "./wire.js";

// Loaded by `node --import` in a run on the wires of nginx (scripts/engines.mjs).
register("./hook.js", import.meta.url);

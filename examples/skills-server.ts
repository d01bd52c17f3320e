import { serveStdio, skillFolder } from "bowline/node";
import { skills } from "bowline/skills/server";
import { createHarbour } from "./harbour.js";

// The tools of the harbour, with the skills of a folder that tell a model how to use them. A change in the folder is
// served at once.
const folder = skillFolder(new URL("../skills", import.meta.url));
await serveStdio(createHarbour().extend(skills(folder)));

import { fileURLToPath } from "node:url";
import { skillFolder } from "bowline/node";
import type { McpServer } from "bowline/server";
import { skills } from "bowline/skills/server";

/** Adds the skills of a folder. None is served if one of them has a problem. */
export function addSkills(server: McpServer): void {
  const folder = fileURLToPath(new URL("../../skills", import.meta.url));
  server.extend(skills(skillFolder(folder), { strict: true }));
}

import { serveHttp, serveStdio, skillFolder } from "bowline/node";
import { McpServer } from "bowline/server";
import { skills } from "bowline/skills/server";
import "../../servers/ledger.js";
import { announce, inputEnd } from "../../servers/listen.js";
import { skillsIn, UNLISTED_FILE, UNLISTED_TEXT } from "../fixture.js";

/** Bowline's own server of skills, in both eras: `node bowline.js stdio|http <folder>`. */
const [mode, folder = ""] = process.argv.slice(2);

const server = new McpServer({ name: "interop-skills", version: "1.0.0" }).extend(
  skills(
    [
      skillFolder(skillsIn(folder)),
      {
        frontmatter: { name: "daily-log", description: "Writes the log of the day" },
        read: (path) => (path === "SKILL.md" ? `Written at ${new Date().toISOString()}.\n` : undefined),
      },
      {
        frontmatter: { name: "night-orders", description: "Orders for the night" },
        body: `Read ${UNLISTED_FILE}.\n`,
        files: { [UNLISTED_FILE]: UNLISTED_TEXT },
        listed: false,
      },
    ],
    { pageSize: 2, strict: true },
  ),
);

if (mode === "stdio") await serveStdio(server);
else {
  const running = await serveHttp(server);
  announce(running.url);
  await inputEnd();
  await running.close();
}

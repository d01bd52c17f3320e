import { deepEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { loadYaml, readSkillText } from "#src/skills/frontmatter.js";

test("only line ends of YAML separate the frontmatter", async () => {
  const parse = await loadYaml();
  const read = (text: string) => readSkillText(text, parse);
  const fields = "name: a\ndescription: d\n";
  deepEqual(read(`---\n${fields}---\nbody`), { frontmatter: { name: "a", description: "d" }, body: "body" });
  deepEqual(read(`\uFEFF---\r\nname: a\r\ndescription: d\r\n--- \t\r\nbody`).body, "body");
  deepEqual(read(`---\n${fields}---`).body, "");
  deepEqual(read(`---\n${fields}x: "1\u2028---"\n---\nbody`), {
    frontmatter: { name: "a", description: "d", x: "1\u2028---" },
    body: "body",
  });
  throws(() => read(`---\n${fields}x: 1\u2028---\u2028`), /no line --- at its end/);
  throws(() => read(`---\n${fields}----\n`), /no line --- at its end/);
});

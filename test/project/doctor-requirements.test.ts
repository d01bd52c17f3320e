import { deepEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

const { readCatalogue } = await loadScript<{ readCatalogue(): ReadonlyMap<string, unknown> }>(
  "scripts/lib/catalogue.mjs",
);

/** Ids as rules write them: in quotes, or as a template with the name of a capability. */
const ID = /"([a-z0-9-]+(?::[a-z0-9-]+)+)"|`\$\{kind\}(:[a-z0-9:-]+)`/g;

test("each requirement that a rule of the doctor names is in the catalogue", () => {
  const folder = "src/doctor/rules";
  const named = readdirSync(folder).flatMap((file) =>
    [...readFileSync(join(folder, file), "utf8").matchAll(ID)].flatMap(([, id, rest]) =>
      id === undefined ? ["tools", "prompts", "resources"].map((kind) => kind + rest) : [id],
    ),
  );
  ok(named.length >= 30, `${named.length} requirements`);
  const catalogue = readCatalogue();
  deepEqual(
    named.filter((id) => !catalogue.has(id)),
    [],
  );
});

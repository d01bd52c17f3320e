/**
 * Runs the required tests of the JSON-Schema-Test-Suite, for each dialect, against the built validator: `node
 * tools/json-schema-suite/run.mjs <folder of the suite>`.
 *
 * The remote documents of 2020-12 are put into `$defs`, since references are never fetched. The validator must refuse
 * the schemas of tests that need more than that: `refRemote.json` of older dialects, and the tests in REFUSED. Any
 * other failure fails the run.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { JSON_SCHEMA_DIALECTS } from "../../dist/schema/json-schema/dialect.js";
import { jsonSchemaValidator } from "../../dist/schema/json-schema/validator.js";

const REFUSED = new Set([
  // A document whose address differs from its $id.
  "remote HTTP ref with different $id",
  "remote HTTP ref with different URN $id",
  // The metaschema of the dialect, which is not included.
  "validate definition against metaschema",
  "remote ref, containing refs itself",
  // A dialect that the schema itself defines.
  "schema that uses custom metaschema with with no validation vocabulary",
  "ignore unrecognized optional vocabulary",
]);

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("name the folder of the suite");
const read = (file) => JSON.parse(readFileSync(file, "utf8"));

const remotes = new Map();
function addRemotes(path, address) {
  for (const name of readdirSync(path)) {
    const file = join(path, name);
    if (statSync(file).isDirectory()) addRemotes(file, `${address}${name}/`);
    else if (name.endsWith(".json")) remotes.set(address + name, read(file));
  }
}
addRemotes(join(folder, "remotes", "draft2020-12"), "http://localhost:1234/draft2020-12/");

const validator = jsonSchemaValidator();

/** Compiles a schema. Adds each remote document that it needs. */
function compile(schema) {
  for (let bundle = schema; ; ) {
    try {
      return validator.compile(bundle);
    } catch (error) {
      const wanted = /the reference "(?:\.\/)?([^"#]+)[^"]*" points outside/.exec(error.message)?.[1];
      const found = [...remotes].find(
        ([address, { $id }]) =>
          (address === wanted || address.endsWith(`/${wanted}`)) &&
          ($id ?? address) === address &&
          !(address in (bundle.$defs ?? {})),
      );
      if (found === undefined) throw error;
      const [address, document] = found;
      bundle = { ...bundle, $defs: { ...bundle.$defs, [address]: { $id: address, ...document } } };
    }
  }
}

/** Folders of the suite, one per dialect. */
const DIALECTS = ["draft2020-12", "draft2019-09", "draft7", "draft6", "draft4"];
const counts = { passed: 0, refused: 0, failed: 0 };
const groups = DIALECTS.flatMap((dialect, index) => {
  const tests = join(folder, "tests", dialect);
  const $schema = JSON_SCHEMA_DIALECTS[index];
  const named = (schema) => (typeof schema === "object" ? { $schema, ...schema } : schema);
  const files = readdirSync(tests).filter((name) => name.endsWith(".json"));
  return files.flatMap((name) =>
    read(join(tests, name)).map((group) => ({
      ...group,
      schema: named(group.schema),
      file: `${dialect}/${name}`,
      isRemote: index > 0 && name === "refRemote.json",
    })),
  );
});
for (const { file, isRemote, description, schema, tests } of groups) {
  let check;
  let refusal = "";
  try {
    check = compile(schema);
  } catch (error) {
    refusal = error.message;
  }
  for (const { description: name, data, valid } of tests) {
    const outcome = check === undefined ? "refused" : (check(data).length === 0) === valid ? "passed" : "failed";
    const isExpected = outcome === "passed" || (outcome === "refused" && (isRemote || REFUSED.has(description)));
    if (!isExpected) console.error(`${file}: ${description} / ${name}: ${outcome} ${refusal}`);
    counts[isExpected ? outcome : "failed"] += 1;
  }
}
console.log(`${counts.passed} passed, ${counts.refused} refused as expected, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;

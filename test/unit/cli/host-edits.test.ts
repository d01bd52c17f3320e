import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import * as yaml from "yaml";
import { applyEdits, type Editor } from "#src/cli/hosts/edit/edits.js";
import { jsonEditor } from "#src/cli/hosts/edit/json.js";
import { tomlEditor } from "#src/cli/hosts/edit/toml.js";
import { yamlEditor } from "#src/cli/hosts/edit/yaml.js";
import { parseToml } from "#src/cli/hosts/toml.js";
import { parseConfiguration } from "#src/node/files/servers.js";

interface Format {
  readonly editor: Editor;
  readonly member: string;
  readonly parse: (text: string) => Readonly<Record<string, object>>;
}

const FORMATS: Readonly<Record<"json" | "toml" | "yaml", Format>> = {
  json: {
    editor: jsonEditor,
    member: "mcpServers",
    parse: (text) => parseConfiguration(text, "f") as Record<string, object>,
  },
  toml: { editor: tomlEditor, member: "mcp_servers", parse: (text) => parseToml(text, "f") as Record<string, object> },
  yaml: { editor: yamlEditor(yaml), member: "extensions", parse: (text) => yaml.parse(text) },
};

const word = fc.stringMatching(/^[a-z][a-z0-9_-]{0,8}$/).filter((name) => name !== "added");
const text = fc.oneof(
  fc.string({ unit: "binary-ascii", maxLength: 12 }),
  fc.constantFrom("a # b", "// no", "/* x", "é\u007f"),
);
const entry = fc.record(
  {
    command: text,
    args: fc.array(text, { maxLength: 3 }),
    env: fc.dictionary(word, text, { minKeys: 1, maxKeys: 2, noNullPrototype: true }),
  },
  { noNullPrototype: true },
);
const servers = fc.uniqueArray(fc.tuple(word, entry), { selector: ([name]) => name, minLength: 1, maxLength: 3 });
const eol = fc.constantFrom("\n", "\r\n");

/** JSON in one of the styles in which people write it. */
const jsonText = fc
  .record({
    servers,
    eol,
    unit: fc.constantFrom("\t", "  ", "    "),
    comma: fc.boolean(),
    comments: fc.boolean(),
    end: fc.boolean(),
  })
  .map(({ servers, eol, unit, comma, comments, end }) => {
    const note = (words: string) => (comments ? ` // ${words}` : "");
    const members = servers.map(([name, value], index) => {
      const tail = index < servers.length - 1 || comma ? "," : "";
      const above = comments ? `${unit}${unit}/* { "${name}": 1, } */\n` : "";
      const body = JSON.stringify(value, undefined, unit).replaceAll("\n", `\n${unit}${unit}`);
      return `${above}${unit}${unit}${JSON.stringify(name)}: ${body}${tail}${note(`of ${name}, {"`)}\n`;
    });
    const lines = `{${note("mine")}\n${unit}"mcpServers": {\n${members.join("")}${unit}},\n${unit}"theme": "dark"\n}${end ? "\n" : ""}`;
    return lines.replaceAll("\n", eol);
  });

const oneLine = fc
  .tuple(servers, fc.boolean())
  .map(([all, comma]) =>
    JSON.stringify({ mcpServers: Object.fromEntries(all), theme: 1 }).replace(
      /\},"theme"/,
      comma ? ',},"theme"' : '},"theme"',
    ),
  );

const tomlText = fc
  .record({ servers, eol, end: fc.boolean(), after: fc.boolean() })
  .map(({ servers, eol, end, after }) => {
    const tables = servers.map(([name, { command, args, env }]) => {
      const string = (value: string) => JSON.stringify(value).replaceAll("\u007f", "\\u007f");
      const pairs = Object.entries(env).map(([key, value]) => `${key} = ${string(value)} # why`);
      return `\n# about ${name}\n[mcp_servers.${name}]\ncommand = ${string(command)}\nargs = [\n  ${args.map(string).join(",\n  ")}\n]\n[mcp_servers.${name}.env]\n${pairs.join("\n")}\n`;
    });
    const rest = after ? '\n[tui]\ntext = """\n[mcp_servers.added]\n"""\n' : "";
    const lines = `model = "o3"\n${tables.join("")}${rest}`;
    return (end ? lines : lines.trimEnd()).replaceAll("\n", eol);
  });

const yamlText = fc
  .record({ servers, eol, end: fc.boolean(), deep: fc.boolean() })
  .map(({ servers, eol, end, deep }) => {
    const members = servers.map(([name, value]) => {
      const indent = deep ? "    " : "  ";
      const body = yaml.stringify({ [name]: { ...value, note: "two\nlines\n" } }, { lineWidth: 0 }).trimEnd();
      return `${indent}# about ${name}\n${body
        .split("\n")
        .map((line) => indent + line)
        .join("\n")}\n`;
    });
    const lines = `GOOSE_MODEL: x # mine\nextensions:\n${members.join("")}\n# the end\nlast: 1\n`;
    return (end ? lines : lines.trimEnd()).replaceAll("\n", eol);
  });

for (const [style, format, texts] of [
  ["JSON with comments", FORMATS.json, jsonText],
  ["JSON in one line", FORMATS.json, oneLine],
  ["TOML", FORMATS.toml, tomlText],
  ["YAML", FORMATS.yaml, yamlText],
] as const) {
  test(`${style}: an entry is added, the rest means the same, and without it the text is equal in each byte`, () => {
    const { editor, member, parse } = format;
    fc.assert(
      fc.property(texts, entry, (before, value) => {
        const path = [member, "added"];
        const after = applyEdits(before, editor.insert(before, path, value));
        const parsed = parse(before);
        deepEqual(parse(after), { ...parsed, [member]: { ...parsed[member], added: value } });
        equal(applyEdits(after, editor.remove(after, path)), before);
      }),
      { numRuns: 80 },
    );
  });

  test(`${style}: any entry is removed, and the rest means the same`, () => {
    const { editor, member, parse } = format;
    fc.assert(
      fc.property(texts, fc.nat(), (before, index) => {
        const parsed = parse(before);
        const names = Object.keys(parsed[member]!);
        const name = names[index % names.length]!;
        const { [name]: _, ...others } = parsed[member] as Record<string, object>;
        const after = applyEdits(before, editor.remove(before, [member, name]));
        const rest = parse(after);
        deepEqual({ ...rest, [member]: rest[member] ?? {} }, { ...parsed, [member]: others });
      }),
      { numRuns: 80 },
    );
  });
}

test("a file without the member, or without members in it, gets them in its own style", () => {
  const value = { command: "x" };
  const added = (before: string, { editor, member }: Format = FORMATS.json) =>
    applyEdits(before, editor.insert(before, [member, "a"], value));
  equal(added(""), '{\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}\n');
  equal(added("{}"), '{\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}');
  equal(
    added('{\r\n\t"mcpServers": {}\r\n}'),
    '{\r\n\t"mcpServers": {\r\n\t\t"a": {\r\n\t\t\t"command": "x"\r\n\t\t}\r\n\t}\r\n}',
  );
  equal(
    added('{\n  "mcpServers": {\n    // none\n  }, // yet\n}'),
    '{\n  "mcpServers": {\n    // none\n    "a": {\n      "command": "x"\n    }\n  }, // yet\n}',
  );
  equal(
    added('{\n  "theme": 1 // dark\n}'),
    '{\n  "theme": 1, // dark\n  "mcpServers": {\n    "a": {\n      "command": "x"\n    }\n  }\n}',
  );
  equal(added("", FORMATS.toml), '[mcp_servers.a]\ncommand = "x"\n');
  equal(added("extensions: {}\nb: 1\n", FORMATS.yaml), "extensions: \n  a:\n    command: x\nb: 1\n");
  equal(added("b: 1", FORMATS.yaml), "b: 1\nextensions:\n  a:\n    command: x\n");
});

import type { Prompt, ResourceTemplate, Tool } from "../../protocol/types/index.js";
import { parseTemplateParts } from "../../protocol/uri-template.js";
import type { DescribedServer } from "./described-server.js";
import { docComment, safeLine } from "./doc-comment.js";
import { hintsText } from "./hints.js";
import { freeName, pascal, propertyName, SchemaTypes } from "./schema-type.js";

/** Words by which a file that `types` has written is recognised. */
export const WRITTEN_BY = "written by `bowline types`";

/** Returns the name of a server's type: from its own name, without the owner in `owner/name`. */
export function typeName({ name }: Pick<DescribedServer, "name">, preset = "Server"): string {
  const [last = ""] = (name ?? "").split("/").slice(-1);
  const found = pascal(last) || pascal(name ?? "") || pascal(preset);
  return /^[A-Za-z]/.test(found) ? found : `Server${found}`;
}

/** Returns the file with the type of one server. */
export function sourceOf(server: DescribedServer, name: string): string {
  const { text, declarations } = declare(server, name, new Set([name]));
  return `${heading([server])}\n${[text, ...declarations].join("\n")}`;
}

/** Returns the file with the types of the servers of a group, by their names in the group. */
export function groupSourceOf(
  servers: readonly (readonly [key: string, server: DescribedServer])[],
  name: string,
): string {
  const taken = new Set([name]);
  const typed = servers.map(([key, server]) => ({ key, server, type: freeName(typeName({ name: key }), taken) }));
  const written = typed.map(({ server, type }) => declare(server, type, taken));
  const members = typed.map(({ key, type }) => `  ${propertyName(key)}: ${type};\n`);
  // An interface would not do: it has no index signature, which the type parameter of a group requires.
  const group = `${docComment([`Servers of a group: \`createGroup<${name}>(config)\`.`], [], "")}export type ${name} = {\n${members.join("")}};\n`;
  const heads = heading(servers.map(([, server]) => server));
  return `${heads}\n${[group, ...written.flatMap(({ text, declarations }) => [text, ...declarations])].join("\n")}`;
}

function heading(servers: readonly DescribedServer[]): string {
  const told = servers.map(({ name = "without a name", version, protocol }) => {
    const words = ["Server", name, ...(version === undefined ? [] : [version]), "in protocol", protocol ?? "unknown"];
    return `// ${words.map(safeLine).join(" ")}`;
  });
  return `${told.join("\n")}\n// This file is ${WRITTEN_BY}, which replaces it.\n`;
}

function declare(server: DescribedServer, name: string, taken: Set<string>) {
  const types = new SchemaTypes(name, taken);
  const section = (kind: string, items: readonly string[]) =>
    `    readonly ${kind}: {${items.length === 0 ? "" : `\n${items.join("")}    `}};\n`;
  const about = `MCP server ${server.title ?? server.name ?? ""}: \`connect<${name}>(...)\`.`;
  const text = [
    docComment([about, server.instructions], [], ""),
    `export interface ${name} {\n  readonly shape: {\n`,
    section(
      "tools",
      server.tools.map((tool) => toolText(tool, name, types)),
    ),
    section("prompts", server.prompts.map(promptText)),
    section("resources", server.templates.map(templateText)),
    "  };\n}\n",
  ].join("");
  return { text, declarations: types.declarations };
}

const ITEM = "      ";
const MEMBER = `${ITEM}  `;

function toolText(
  { name, title, description, annotations, inputSchema, outputSchema }: Tool,
  owner: string,
  types: SchemaTypes,
): string {
  const heads = title === description ? [description] : [title ?? annotations?.title, description];
  const base = `${owner}${pascal(name)}`;
  const input = types.typeOf(inputSchema, `${base}Input`, MEMBER);
  const output = outputSchema === undefined ? "unknown" : types.typeOf(outputSchema, `${base}Output`, MEMBER);
  return `${docComment([...heads, hintsText(annotations)], [], ITEM)}${ITEM}${propertyName(name)}: {\n${MEMBER}input: ${input};\n${MEMBER}output: ${output};\n${ITEM}};\n`;
}

function promptText({ name, title, description, arguments: declared = [] }: Prompt): string {
  const members = declared.map(
    (one) =>
      `${docComment([one.description ?? one.title], [], `${MEMBER}  `)}${MEMBER}  ${propertyName(one.name)}${one.required === true ? "" : "?"}: string;\n`,
  );
  return item(name, docComment([title, description], [], ITEM), "arguments", members);
}

function templateText({ uriTemplate, name, title, description }: ResourceTemplate): string {
  const members = variablesOf(uriTemplate).map((one) => `${MEMBER}  ${one};\n`);
  return item(uriTemplate, docComment([title ?? name, description], [], ITEM), "variables", members);
}

function item(name: string, comment: string, kind: string, members: readonly string[]): string {
  const type = members.length === 0 ? "{ [name: string]: never }" : `{\n${members.join("")}${MEMBER}}`;
  return `${comment}${ITEM}${propertyName(name)}: {\n${MEMBER}${kind}: ${type};\n${ITEM}};\n`;
}

/** Returns the variables of a template as members. Lists are those with a star, and a query may be left out. */
function variablesOf(template: string): string[] {
  try {
    const parts = parseTemplateParts(template).filter((part) => typeof part !== "string");
    const variables = parts.flatMap((part) =>
      part.variables.map(({ name, explode }) => {
        const mark = part.operator === "?" || part.operator === "&" ? "?" : "";
        return `${propertyName(name)}${mark}: ${explode ? "string[]" : "string"}`;
      }),
    );
    return [...new Map(variables.map((one) => [one.replace(/\??:.*$/, ""), one])).values()];
  } catch {
    return ["/* the template is not valid */ [name: string]: string"];
  }
}

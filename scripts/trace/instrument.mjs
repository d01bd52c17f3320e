import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parse } from "acorn";
import { at, shown } from "../lib/project.mjs";

/**
 * Puts a probe at the start of each function body, so that the module tells the global `recorder` which function is
 * entered. Positions come from the source map. Code outside of function bodies has no probe: the top level of a module,
 * field initialisers, static blocks and defaults of parameters.
 * @param {string} code a module of the build
 * @param {import("node:module").SourceMapPayload} map its source map
 * @param {string} file the name of its source in reports
 * @returns {{ code: string, file: string, lines: number, functions: { name: string, line: number, lines: number }[] }}
 */
export function instrument(code, map, file) {
  const positions = new SourceMap(map);
  const lineOf = ({ line, column }) => (positions.findEntry(line - 1, column).originalLine ?? line - 1) + 1;
  const functions = [];
  const inserts = [];
  for (const { node, name } of functionsIn(
    parse(code, { ecmaVersion: "latest", sourceType: "module", locations: true }),
  )) {
    const { start, end } = node.loc;
    const line = lineOf(start);
    const lines = lineOf({ line: end.line, column: end.column - 1 }) - line + 1;
    const probe = `globalThis.recorder.enter(${JSON.stringify(file)},${functions.length})`;
    functions.push({ name, line, lines });
    if (node.body.type === "BlockStatement") inserts.push([node.body.start + 1, `${probe};`]);
    else inserts.push([node.body.start, `(${probe},`], [node.body.end, ")"]);
  }
  const lines = (map.sourcesContent?.[0] ?? "").split("\n").length - 1;
  const head = `globalThis.recorder.describe(import.meta.url,${JSON.stringify({ file, lines, functions })});`;
  return { code: head + withInserts(code, inserts), file, lines, functions };
}

function withInserts(code, inserts) {
  let out = "";
  let from = 0;
  for (const [position, text] of inserts.sort(([a], [b]) => a - b)) {
    out += code.slice(from, position) + text;
    from = position;
  }
  return out + code.slice(from);
}

/**
 * Yields each function below a node with its name: the name of the enclosing function, if there is one, and its own.
 */
function* functionsIn(node, around = "", given = undefined) {
  let inner = around;
  let named = given;
  if (/Function/.test(node.type)) {
    const own = node.id?.name ?? given ?? "(anonymous)";
    inner = around === "" ? own : `${around} > ${own}`;
    yield { node, name: inner };
    named = undefined;
  } else if (/^Class(Declaration|Expression)$/.test(node.type)) {
    named = node.id?.name ?? given ?? "(class)";
  }
  for (const [key, child] of childrenOf(node)) yield* functionsIn(child, inner, nameOf(node, key, named));
}

function* childrenOf(node) {
  for (const [key, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === "string") yield [key, child];
    }
  }
}

/** Returns the name that a node gives to a function or class in its member `key`. */
function nameOf(node, key, given) {
  switch (`${node.type}.${key}`) {
    case "VariableDeclarator.init":
      return textOf(node.id);
    case "AssignmentExpression.right":
      return textOf(node.left);
    case "Property.value":
      return textOf(node.key);
    case "MethodDefinition.value":
    case "PropertyDefinition.value":
      return `${given}.${textOf(node.key)}`;
    case "ClassDeclaration.body":
    case "ClassExpression.body":
    case "ClassBody.body":
      return given;
    default:
      return undefined;
  }
}

function textOf(node) {
  if (node.type === "PrivateIdentifier") return `#${node.name}`;
  if (node.type === "MemberExpression") return `${textOf(node.object)}.${textOf(node.property)}`;
  if (node.type === "ThisExpression") return "this";
  return node.name ?? node.value ?? "(computed)";
}

const built = pathToFileURL(at("dist/")).href;

/** Instruments the modules of the build while they are loaded. Hook of `module.register`. */
export async function load(url, context, next) {
  if (!url.startsWith(built) || !url.endsWith(".js")) return next(url, context);
  const path = fileURLToPath(url);
  if (!existsSync(`${path}.map`)) throw new Error(`${shown(path)}: has no source map; npm run build makes one`);
  const map = JSON.parse(readFileSync(`${path}.map`, "utf8"));
  const file = shown(fileURLToPath(new URL(map.sources[0] ?? basename(path), url)));
  const { code } = instrument(readFileSync(path, "utf8"), map, file);
  return { format: "module", source: code, shortCircuit: true };
}

import { createHash } from "node:crypto";
import { parse } from "acorn";
import { withoutComments } from "../../scripts/lib/imports.mjs";

/**
 * Finds all mutants of a file of the build. A mutant is one change: `{ id, operator, start, end, text, kind }`. `text`
 * replaces the code from `start` to `end`. `kind` is `expression`, or `statement` for one that is left out. The id is a
 * digest of the file, the operator, the enclosing function and the code without comments and strings, so it is stable
 * while other lines change.
 */
export function findMutants(file, code) {
  const tree = parse(code, { ecmaVersion: "latest", sourceType: "module" });
  const found = [];
  const seen = new Map();
  walk(tree, [], (node, parents) => {
    for (const { operator, target = node, text, kind = "expression" } of changesOf(node, parents, code)) {
      const key = [file, operator, functionOf(parents), plain(code.slice(target.start, target.end)), plain(text)].join(
        "\n",
      );
      const count = (seen.get(key) ?? 0) + 1;
      seen.set(key, count);
      const id = createHash("sha256").update(`${key}\n${count}`).digest("hex").slice(0, 8);
      found.push({ id, file, operator, start: target.start, end: target.end, text, kind });
    }
  });
  return found;
}

const flipped = { "<": "<=", "<=": "<", ">": ">=", ">=": ">" };
const opposite = { "===": "!==", "!==": "===", "==": "!=", "!=": "==" };
const reckoned = { "-": "+", "*": "/", "%": "*", "/": "*" };
const assigned = { "+=": "-=", "-=": "+=" };
/** A larger literal is a time or a size, where an increase by one does not change the behaviour. */
const largestLiteral = 1000;

/** Yields the changes that begin at a node. */
function* changesOf(node, parents, code) {
  const parent = parents.at(-1);
  const raw = (part) => code.slice(part.start, part.end);
  if ((node.type === "IfStatement" || node.type === "ConditionalExpression") && !isComparison(node.test)) {
    yield { operator: "negate", target: node.test, text: `!(${raw(node.test)})` };
  }
  if (node.type === "WhileStatement" && node.test.type !== "Literal") {
    yield { operator: "negate", target: node.test, text: `!(${raw(node.test)})` };
  }
  if (node.type === "UnaryExpression" && node.operator === "!" && !isTest(node, parent)) {
    yield { operator: "negate", text: raw(node.argument) };
  }
  if (node.type === "BinaryExpression") yield* binary(node, raw, parents);
  if (node.type === "LogicalExpression" && node.operator !== "??") {
    const other = node.operator === "&&" ? "||" : "&&";
    yield { operator: "logic", text: `(${raw(node.left)}) ${other} (${raw(node.right)})` };
  }
  if (node.type === "LogicalExpression" && node.operator === "??") yield { operator: "default", text: raw(node.left) };
  if (node.type === "ReturnStatement" && node.argument) yield* returned(node.argument, raw);
  if (node.type === "ArrowFunctionExpression" && node.body.type !== "BlockStatement") yield* returned(node.body, raw);
  if (node.type === "ExpressionStatement" && isDroppable(node.expression)) {
    yield { operator: "drop", text: "", kind: "statement" };
  }
  if (node.type === "AwaitExpression" && !isLast(parents)) yield { operator: "await", text: raw(node.argument) };
  if (node.type === "AssignmentExpression" && node.operator in assigned && !isLoopStep(parents, node)) {
    yield { operator: "arithmetic", text: `${raw(node.left)} ${assigned[node.operator]} ${raw(node.right)}` };
  }
  if (node.type === "Literal") yield* literal(node, parent);
  if (node.type === "ArrayExpression" || node.type === "ObjectExpression") yield* elements(node, raw);
  if (node.type === "CallExpression" && node.arguments.length > 1) {
    const rest = node.arguments.slice(0, -1).map(raw).join(", ");
    yield { operator: "argument", text: `${code.slice(node.start, opening(node, code))}(${rest})` };
  }
}

function* binary(node, raw, parents) {
  const replaced = (operator) => `(${raw(node.left)}) ${operator} (${raw(node.right)})`;
  if (node.operator in flipped) yield { operator: "boundary", text: replaced(flipped[node.operator]) };
  if (node.operator in opposite) yield { operator: "negate", text: replaced(opposite[node.operator]) };
  if (node.operator in reckoned && !isLoopStep(parents, node)) {
    yield { operator: "arithmetic", text: replaced(reckoned[node.operator]) };
  }
}

function* returned(value, raw) {
  if (value.type === "Identifier" && value.name === "undefined") return;
  if (value.type === "Literal" || isComparison(value) || value.type === "AwaitExpression") return;
  if (value.type === "ArrayExpression" && value.elements.length > 0) {
    yield { operator: "return", target: value, text: "[]" };
  } else if (!(value.type === "ArrayExpression") && raw(value) !== "{}") {
    yield { operator: "return", target: value, text: "undefined" };
  }
}

function* literal(node, parent) {
  if ((parent.type === "Property" || parent.type === "PropertyDefinition") && parent.key === node) return;
  if (typeof node.value === "boolean") yield { operator: "constant", text: String(!node.value) };
  if (typeof node.value === "number" && node.value <= largestLiteral) {
    yield { operator: "constant", text: String(node.value + 1) };
  }
}

function* elements(node, raw) {
  const parts = node.type === "ArrayExpression" ? node.elements : node.properties;
  if (parts.includes(null)) return;
  const [open, close] = node.type === "ArrayExpression" ? "[]" : "{}";
  for (const [index] of parts.entries()) {
    const rest = parts.filter((_, other) => other !== index).map(raw);
    yield { operator: "element", text: `${open}${rest.join(", ")}${close}` };
  }
}

const isComparison = (node) =>
  node.type === "BinaryExpression" && (node.operator in opposite || node.operator in flipped);

const isTest = (node, parent) =>
  (parent.type === "IfStatement" || parent.type === "ConditionalExpression" || parent.type === "WhileStatement") &&
  parent.test === node;

function isDroppable(expression) {
  if (expression.type === "Literal") return false;
  const call = expression.type === "AwaitExpression" ? expression.argument : expression;
  return !(call.type === "CallExpression" && call.callee.type === "Super");
}

/** True for a `return await` outside of any `try`. Without `await` the behaviour is the same. */
function isLast(parents) {
  const start = parents.findLastIndex(({ type }) => /Function/.test(type));
  const isWatched = parents.some(
    (parent, at) =>
      at > start && parent.type === "TryStatement" && (parents[at + 1] === parent.block || parent.finalizer !== null),
  );
  return /^(Return|Arrow)/.test(parents.at(-1).type) && !isWatched;
}

/** True in the step of a `for`. A change there makes an endless loop, which only costs time. */
const isLoopStep = (parents, node) =>
  parents.some((parent, index) => parent.type === "ForStatement" && parent.update === (parents[index + 1] ?? node));

/** Returns the position of the parenthesis that opens the arguments of a call. The callee may have parentheses too. */
function opening(call, code) {
  let at = call.callee.end;
  while (code[at] !== "(") at += 1;
  return call.optional ? code.indexOf("?.", call.callee.end) + 2 : at;
}

function functionOf(parents) {
  const names = parents.flatMap((parent) => {
    if (parent.type === "FunctionDeclaration" || parent.type === "ClassDeclaration") return [parent.id?.name ?? ""];
    if (parent.type === "MethodDefinition" || parent.type === "PropertyDefinition") return [parent.key.name ?? ""];
    if (parent.type === "VariableDeclarator" && parent.id.type === "Identifier") return [parent.id.name];
    return [];
  });
  return names.join(".");
}

/** Removes comments, strings and spaces, so that a change of texts does not make another mutant. */
const plain = (code) =>
  withoutComments(code)
    .replace(/"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, '""')
    .replace(/\s+/g, "");

function walk(node, parents, visit) {
  visit(node, parents);
  const inside = [...parents, node];
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child?.type === "string") walk(child, inside, visit);
    }
  }
}

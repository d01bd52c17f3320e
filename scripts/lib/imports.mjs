/**
 * Removes comments from TypeScript or JavaScript and keeps line breaks. Recognizes strings and templates, so that `//`
 * inside them stays. Does not recognize a regular expression that contains a quote or `//`.
 */
export function withoutComments(code) {
  let out = "";
  let index = 0;
  while (index < code.length) {
    const pair = code.slice(index, index + 2);
    if (pair === "//") {
      index = endOf(code, "\n", index);
    } else if (pair === "/*") {
      const end = endOf(code, "*/", index + 2) + 2;
      out += code.slice(index, end).replace(/[^\n]/g, "");
      index = end;
    } else if (code[index] === '"' || code[index] === "'" || code[index] === "`") {
      const end = endOfString(code, index);
      out += code.slice(index, end);
      index = end;
    } else {
      out += code[index];
      index += 1;
    }
  }
  return out;
}

function endOf(code, mark, from) {
  const found = code.indexOf(mark, from);
  return found === -1 ? code.length : found;
}

function endOfString(code, start) {
  const quote = code[start];
  for (let index = start + 1; index < code.length; index += 1) {
    if (code[index] === "\\") index += 1;
    else if (code[index] === quote) return index + 1;
    else if (code[index] === "\n" && quote !== "`") return index;
  }
  return code.length;
}

const statement =
  /(?:^|[;}\n])\s*(?:import|export)\s+(type\s+)?(?:[\w$\s,*]*(?:\{[^}]*\})?\s*from\s*)?["']([^"']+)["']/g;
const call = /(\btypeof\s+)?\bimport\s*\(\s*["']([^"']+)["']\s*\)?(\s*\.\s*(?!then\b|catch\b|finally\b)\w)?/g;

/**
 * Returns the imports and re-exports of a module: `{ specifier, kind: "static" | "type" | "dynamic" | "inline" }`.
 * `inline` is a type such as `typeof import("./a.js")` or `import("./a.js").A`.
 */
export function importsOf(code) {
  const text = withoutComments(code);
  const found = [];
  for (const [, type, specifier] of text.matchAll(statement)) found.push({ specifier, kind: type ? "type" : "static" });
  for (const [, query, specifier, member] of text.matchAll(call))
    found.push({ specifier, kind: query || member ? "inline" : "dynamic" });
  return found;
}

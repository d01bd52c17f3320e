/**
 * Removes comments from TypeScript or JavaScript and keeps line breaks and everything else. Strings and templates are
 * known, so that `//` inside one stays; a regular expression literal that holds a quote or `//` is not.
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
 * What a module imports: `{ specifier, kind: "static" | "type" | "dynamic" | "inline" }`, re-exports included. `inline` is a
 * type in place: `typeof import("./a.js")`, `import("./a.js").A`.
 */
export function importsOf(code) {
  const text = withoutComments(code);
  const found = [];
  for (const [, type, specifier] of text.matchAll(statement)) found.push({ specifier, kind: type ? "type" : "static" });
  for (const [, query, specifier, member] of text.matchAll(call))
    found.push({ specifier, kind: query || member ? "inline" : "dynamic" });
  return found;
}

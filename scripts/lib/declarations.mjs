import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { withoutComments } from "./imports.mjs";

/**
 * Reads declaration files as tsc writes them: each top-level statement begins in the first column, after the `;` or `}`
 * of the one before it. TypeScript 7 has no stable interface to its parser, and a report needs no more.
 */
export class Declarations {
  #modules = new Map();

  /**
   * Returns the names that a module exports, each with the module and name that declare it. `isType` marks what is
   * exported as a type only.
   */
  exportsOf(file) {
    const found = new Map();
    for (const { text } of this.#read(file).statements) {
      const all = text.match(/^export (type )?\* from "(.+)";$/);
      const some = text.match(/^export (type )?\{([^}]*)\}(?: from "(.+)")?;$/s);
      const target = (specifier) => join(dirname(file), specifier.replace(/\.js$/, ".d.ts"));
      if (all !== null) {
        for (const [name, origin] of this.exportsOf(target(all[2])))
          if (!found.has(name)) found.set(name, all[1] === undefined ? origin : { ...origin, isType: true });
      } else if (some !== null) {
        for (const { name, as, isType } of names(some[2])) {
          const local = this.#read(file).imports.get(name) ?? { file, name };
          const origin = some[3] === undefined ? local : this.#origin(target(some[3]), name);
          found.set(as, some[1] === undefined && !isType ? origin : { ...origin, isType: true });
        }
      } else if (text.startsWith("export ")) {
        const name = declaredName(text);
        if (name === undefined) throw new Error(`${file}: an export this report cannot read: ${text}`);
        found.set(name, { file, name });
      }
    }
    return found;
  }

  /** Returns the text of a declaration (all overloads and merged parts), without comments. */
  textOf({ file, name }) {
    const parts = this.#read(file).statements.filter(({ text }) => declaredName(text) === name);
    return parts.map(({ text }) => text.replace(/^(export |declare )+/, "")).join("\n");
  }

  /**
   * True if a declaration is a class, an interface, an enumeration or an alias of an object type. An alias that its module
   * does not export stands for its text.
   */
  isObjectType(origin) {
    const text = this.textOf(origin);
    const isAlias = /^type [^=]+ =\s*\{(?!\s*[-+\w ]*\[)/.test(text) && !this.#isPrivateAlias(origin);
    return isAlias || /^(abstract )?(class|interface|enum) /.test(text);
  }

  /** True if a declaration is a class whose constructor anyone may call. */
  isConstructible(origin) {
    const text = this.textOf(origin);
    return /^(abstract )?class /.test(text) && /^ {4}constructor\(/m.test(text);
  }

  /** True if a declaration is a class, a function or another value. */
  isValue(origin) {
    return /^(abstract )?(class|function|const|let|var) /.test(this.textOf(origin));
  }

  /**
   * Returns the declarations that a user sees in a declaration. Constructors and hidden members do not count. An alias
   * that its module does not export stands for the declarations that it names.
   */
  signatureReferencesOf(origin, seen = new Set([origin.name])) {
    const hidden = /^ {4}(constructor\(|private |protected )/;
    const text = this.textOf(origin)
      .split("\n")
      .filter((line) => !hidden.test(line));
    return this.referencesOf(origin, text.join("\n")).flatMap((used) => {
      if (!this.#isPrivateAlias(used)) return [used];
      if (seen.has(used.name)) return [];
      return this.signatureReferencesOf(used, seen.add(used.name));
    });
  }

  #isPrivateAlias({ file, name }) {
    return this.#read(file).statements.some(
      ({ text }) => /^(declare )?type /.test(text) && declaredName(text) === name,
    );
  }

  /** Returns the declarations of the same package that the text of a declaration names. */
  referencesOf(origin, text = this.textOf(origin)) {
    const { imports, statements } = this.#read(origin.file);
    const local = new Set(statements.map(({ text }) => declaredName(text)));
    const found = [];
    for (const [, specifier, name] of text.matchAll(/import\("(\.[^"]+)"\)\.([\w$]+)/g)) {
      found.push(this.#origin(join(dirname(origin.file), specifier.replace(/\.js$/, ".d.ts")), name));
    }
    for (const word of new Set(text.match(/[A-Za-z_$][\w$]*/g) ?? [])) {
      if (word === origin.name) continue;
      if (imports.has(word)) found.push(imports.get(word));
      else if (local.has(word)) found.push({ file: origin.file, name: word });
    }
    return found;
  }

  #origin(file, name) {
    return this.exportsOf(file).get(name) ?? { file, name };
  }

  #read(file) {
    const known = this.#modules.get(file);
    if (known !== undefined) return known;
    if (!existsSync(file)) throw new Error(`${file} does not exist`);
    const statements = split(withoutComments(readFileSync(file, "utf8")));
    const module = { statements, imports: new Map() };
    this.#modules.set(file, module);
    for (const { text } of statements) {
      const [, type, list, specifier] = text.match(/^import (type )?\{([^}]*)\} from "(\..+)";$/s) ?? [];
      if (specifier === undefined) continue;
      const source = join(dirname(file), specifier.replace(/\.js$/, ".d.ts"));
      for (const { name, as, isType } of names(list)) {
        const origin = this.#origin(source, name);
        module.imports.set(as, type === undefined && !isType ? origin : { ...origin, isType: true });
      }
    }
    return module;
  }
}

function split(code) {
  const statements = [];
  for (const line of code.split("\n").filter((text) => text.trim() !== "")) {
    // A member of a union after a comment is in the first column, too.
    const isFurther = /^[\s})\]>|&]/.test(line) || !/[;}]\s*$/.test(statements.at(-1)?.text ?? ";");
    if (isFurther && statements.length > 0) statements.at(-1).text += `\n${line}`;
    else statements.push({ text: line });
  }
  return statements;
}

const declaredName = (text) =>
  text.match(
    /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|function|const|let|var|namespace)\s+([\w$]+)/,
  )?.[1];

function names(list) {
  return list
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const [name, as = name] = part.replace(/^type /, "").split(/\s+as\s+/);
      return { name, as, isType: part.startsWith("type ") };
    });
}

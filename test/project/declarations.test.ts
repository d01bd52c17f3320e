import { equal } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Origin {
  readonly file: string;
  readonly name: string;
}

interface Reader {
  exportsOf(file: string): ReadonlyMap<string, Origin>;
  textOf(origin: Origin): string;
}

const { Declarations } = await loadScript<{ Declarations: new () => Reader }>("scripts/lib/declarations.mjs");

/** Returns the declaration of a name in a file with this text, on one line. */
function declarationOf(t: { after(end: () => void): void }, name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "bowline-declarations-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "entry.d.ts");
  writeFileSync(file, text);
  const reader = new Declarations();
  const origin = reader.exportsOf(file).get(name);
  return origin === undefined ? "" : reader.textOf(origin).replace(/\s+/g, " ");
}

test("a union whose first member has a comment is read to its end", (t) => {
  const text =
    'export type Mood = \n/** Above water. */\n"dry"\n/** Below. */\n | "wet";\nexport declare const next: number;\n';
  equal(declarationOf(t, "Mood", text), 'type Mood = "dry" | "wet";');
  equal(declarationOf(t, "next", text), "const next: number;");
});

test("and so is one of objects", (t) => {
  const text =
    'export type Status = \n/** Not used. */\n{\n    readonly state: "idle";\n}\n/** Failed. */\n | {\n    readonly failures: number;\n};\nexport type Other = 1;\n';
  equal(
    declarationOf(t, "Status", text),
    'type Status = { readonly state: "idle"; } | { readonly failures: number; };',
  );
  equal(declarationOf(t, "Other", text), "type Other = 1;");
});

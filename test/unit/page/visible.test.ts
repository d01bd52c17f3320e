import { equal } from "node:assert/strict";
import { test } from "node:test";
import { visible } from "#src/page/model/visible.js";

test("what hides or reorders text is written as its code", () => {
  equal(visible("\u202egnp.exe"), "\\u{202e}gnp.exe");
  equal(
    visible("a\u0007\u001b[31m\u2066b\u2069\ufeff\u200b"),
    "a\\u{7}\\u{1b}[31m\\u{2066}b\\u{2069}\\u{feff}\\u{200b}",
  );
  equal(visible("ok\u{e0041}"), "ok\\u{e0041}");
});

test("line ends, tabs, other scripts and joined emoji stay", () => {
  for (const text of ["a\tb\r\nc", "مرحبا", "می\u200cخواهم", "👩\u200d🚀", "é ñ 漢"]) equal(visible(text), text);
});

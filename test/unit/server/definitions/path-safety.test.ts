import { deepEqual } from "node:assert/strict";
import { describe, it } from "node:test";
import { isUnsafePath } from "#src/server/definitions/resources.js";

describe("a value is", () => {
  it("unsafe as a path when it climbs, is absolute or holds a NUL", () => {
    const values = [
      "../etc",
      "a/../../b",
      "..\\etc",
      "..",
      "/etc/passwd",
      "\\\\srv\\share",
      "C:\\x",
      "C:x",
      "a\0.txt",
      ["a", "..", "..", "b"],
      ["", "x"],
      ["a", "../../b"],
    ];
    deepEqual(
      values.filter((value) => !isUnsafePath(value)),
      [],
    );
  });

  it("safe otherwise", () => {
    const values = ["a/b", "a/../b", "1.0..2.0", "HEAD~3..HEAD", "...", "", "a//b", ["a", "", "b"], "日本"];
    deepEqual(values.filter(isUnsafePath), []);
  });
});

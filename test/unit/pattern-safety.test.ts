import { deepEqual, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { isSafePattern } from "#src/schema/json-schema/pattern-safety.js";
import { createValidator } from "#src/schema/json-schema/validator.js";

describe("a pattern", () => {
  it("that can take exponential time is not safe", () => {
    const patterns = [
      "^(a+)+$",
      "(a*)*",
      "^(\\w+\\s?)*$",
      "(.*)+x",
      "((a+))+",
      "(?:a+b?)*$",
      "(x+){2,}",
      "(a|a)*",
      "(\\w|\\d)+",
      "(?=(a+)+$)b",
      "(?:[a-z]+[0-9]*)+!",
      "^(([a-z])+.)+[A-Z]([a-z])+$",
    ];
    deepEqual(patterns.filter(isSafePattern), []);
  });

  it("of common use is safe", () => {
    const patterns = [
      "^[a-z]+$",
      "^\\d{4}-\\d{2}$",
      "^(?:\\.[a-z]+)*$",
      "^([a-z]+\\.)*$",
      "(foo|bar)*",
      '^"(?:[^"\\\\]|\\\\.)*"$',
      "^[^@]+@[^@]+$",
      "^(?<year>\\d+)-\\p{L}+$",
      "^/(?:[^/]+/)*$",
      "a{2,5}(b|c)?",
      "^\\u{1F600}*$",
      "[)(]+",
    ];
    deepEqual(
      patterns.filter((pattern) => !isSafePattern(pattern)),
      [],
    );
  });

  it("of a library's formats is safe", () => {
    const formats = [
      z.email(),
      z.uuid(),
      z.ipv4(),
      z.ipv6(),
      z.cidrv4(),
      z.base64(),
      z.nanoid(),
      z.iso.date(),
      z.iso.time(),
      z.iso.datetime(),
      z.iso.duration(),
    ];
    const patterns = formats.map((format) => String(z.toJSONSchema(format).pattern));
    deepEqual(
      patterns.filter((pattern) => !isSafePattern(pattern)),
      [],
    );
  });

  it("that is too long is not safe", () => {
    deepEqual(isSafePattern("a".repeat(2001)), false);
  });

  it("of a stranger is refused with its place", () => {
    const validator = createValidator({ acceptPattern: isSafePattern });
    throws(() => validator.compile({ items: { pattern: "^(a+)+$" } }), /#\/items: the pattern/);
    throws(() => validator.compile({ patternProperties: { "^(a+)+$": {} } }), /#: the pattern/);
    deepEqual(validator.compile({ pattern: "^a+$" })("b").length, 1);
  });
});

import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { PatternMatcher, Patterns } from "#src/schema/json-schema/pattern.js";
import { NO_PATTERN, readPattern } from "#src/schema/json-schema/pattern-syntax.js";
import { Seeded } from "../../../support/seeded.js";

function matcher(source: string): PatternMatcher {
  const read = new Patterns(10_000).read(source);
  ok(read instanceof PatternMatcher, `${source}: ${read}`);
  return read;
}

/** The verdict, and the steps that it took. */
function run(source: string, text: string): { matches: boolean; steps: number } {
  const budget = { left: 1_000_000_000 };
  const matches = matcher(source).test(text, budget);
  return { matches, steps: 1_000_000_000 - budget.left };
}

const ATOMS = [
  ..."abc019_- ",
  "é",
  "💧",
  "一",
  ".",
  "\\d",
  "\\w",
  "\\s",
  "\\D",
  "\\W",
  "\\S",
  "\\p{L}",
  "\\P{L}",
  "\\p{Emoji_Presentation}",
  "\\.",
  "\\-".replace("\\-", "[\\-]"),
  "\\n",
  "\\u0061",
  "\\u{1F4A7}",
  "\\uD83D\\uDCA7",
  "\\x62",
  "[abc]",
  "[^a]",
  "[a-c0-9]",
  "[^\\d\\s]",
  "[💧-💩]",
  "[\\]\\\\]",
  "[^]",
  "[]",
  "^",
  "$",
  "\\b",
  "\\B",
];
const QUANTIFIERS = ["*", "+", "?", "{0}", "{1}", "{2}", "{1,}", "{0,2}", "{2,3}", "*?", "+?", "??", "{1,2}?"];
const TEXTS = [..."abbc019_- .\n\\]", "a", "b", "é", "💧", "💨", "一", "\ud83d", "\udca7", "\u2028"];

function pattern(random: Seeded, depth: number): string {
  const branches = Array.from({ length: 1 + (random.below(3) === 0 ? random.below(3) : 0) }, () => {
    const parts = Array.from({ length: random.below(4) }, () => {
      const atom =
        depth > 0 && random.below(3) === 0
          ? `${random.pick(["(", "(?:", "(?:"])}${pattern(random, depth - 1)})`
          : random.pick(ATOMS);
      const isEdge = /^(?:[\^$]|\\[bB])$/.test(atom);
      return !isEdge && random.below(3) === 0 ? atom + random.pick(QUANTIFIERS) : atom;
    });
    return parts.join("");
  });
  return branches.join("|");
}

describe("the pattern matcher", () => {
  it("agrees with the engine's own on patterns and texts at random", () => {
    const random = new Seeded(20_260_728);
    let matched = 0;
    for (let n = 0; n < 8_000; n++) {
      const source = pattern(random, 3);
      const expected = new RegExp(source, "u");
      const own = matcher(source);
      for (let round = 0; round < 6; round++) {
        const text = Array.from({ length: random.below(9) }, () => random.pick(TEXTS)).join("");
        const verdict = expected.test(text);
        equal(own.test(text, { left: 1_000_000 }), verdict, `/${source}/u on ${JSON.stringify(text)}`);
        if (verdict) matched++;
      }
    }
    ok(matched > 10_000 && matched < 38_000, `${matched} of 48,000 texts match`);
  });

  const EXACT: readonly [source: string, good: readonly string[], bad: readonly string[]][] = [
    ["", ["", "a"], []],
    ["^$", [""], ["a", "\n"]],
    ["^(?:|a)$", ["", "a"], ["b"]],
    ["^(?:a|b|)+$", ["", "abba"], ["c"]],
    ["^(a*)*$", ["", "aaa"], ["aab"]],
    ["^(?:a{2}){2,3}$", ["aaaa", "aaaaaa"], ["aa", "aaaaa", "aaaaaaaa"]],
    ["^(?<year>\\d{4})-(?<month>\\d\\d)$", ["2026-07"], ["2026-7", "26-07"]],
    ["\\bfoo\\b", ["a foo b", "foo"], ["afoo", "foo_", "éfoox"]],
    ["^.$", ["💧", "é", "\ud83d"], ["\n", "ab", ""]],
    ["^[^\\n]$", ["💧"], ["💧💧"]],
    ["^\\p{Lu}\\p{Ll}+$", ["Émile"], ["émile"]],
    ["^\\uD83D\\uDCA7$", ["💧"], ["\ud83d"]],
    ["^\\ud83d$", ["\ud83d"], ["💧"]],
    ["a|^b$|c", ["xa", "b", "cx"], ["bb", "xb"]],
    ["$^", [""], ["a"]],
    ["x{0}y", ["y"], ["x"]],
    ["\\0", ["\0"], ["0"]],
    ["[\\b]", ["\b"], ["b"]],
    ["\\cJ", ["\n"], ["J"]],
    ["\\/", ["/"], ["a"]],
  ];
  for (const [source, good, bad] of EXACT) {
    it(`matches /${source}/`, () => {
      for (const text of [...good, ...bad]) {
        equal(new RegExp(source, "u").test(text), good.includes(text), `the table: ${JSON.stringify(text)}`);
        equal(run(source, text).matches, good.includes(text), JSON.stringify(text));
      }
    });
  }

  it("takes a bounded number of steps for each character, whatever the pattern", () => {
    const many = "a".repeat(400_000);
    const HOSTILE: readonly [source: string, text: string, perCharacter: number][] = [
      ["^(?:aa|aaa)*$", `${many}!`, 2],
      ["^(?:a+){1,30}$", `${many}!`, 2],
      ["^(a+)+$", `${many}!`, 2],
      ["\\d+$", `${"1".repeat(400_000)}!`, 2],
      [`${"a*".repeat(50)}b`, many, 2],
      ["(.*)+x", many, 2],
      ["^(\\w|\\d)*$", `${many}!`, 2],
      ["(?:\\b|a)*?x$", many, 10],
      ["(?:é+)+$", `${"é".repeat(100_000)}!`, 10],
    ];
    for (const [source, text, perCharacter] of HOSTILE) {
      const { matches, steps } = run(source, text);
      equal(matches, false, source);
      ok(steps <= perCharacter * text.length, `${source}: ${steps} steps for ${text.length} characters`);
    }
  });

  it("stops when the steps are spent", () => {
    throws(() => matcher("(?:.?){200}x").test("一".repeat(10_000), { left: 10_000 }), RangeError);
    const budget = { left: 5_000 };
    throws(() => matcher("^a*$").test("a".repeat(30_000), budget), RangeError);
    ok(budget.left < 0);
  });

  it("keeps a bounded number of fronts, and its verdicts beyond that", () => {
    const source = "^(?:[ab]*a[ab]{12})$";
    const own = matcher(source);
    const native = new RegExp(source, "u");
    const random = new Seeded(7);
    for (let n = 0; n < 300; n++) {
      const text = Array.from({ length: 13 + random.below(40) }, () => random.pick(["a", "b"])).join("");
      equal(own.test(text, { left: 1_000_000 }), native.test(text), text);
    }
    const budget = { left: 1_000_000 };
    for (let again = 0; again < 2; again++) own.test("abbab".repeat(20), budget);
    const spent = 1_000_000 - budget.left;
    ok(spent > 1_000, `${spent} steps: nothing of this was remembered`);
  });

  it("stops early where the text is decided", () => {
    ok(run("^a", "b".repeat(100_000)).steps < 10);
    ok(run("a", `a${"b".repeat(100_000)}`).steps < 10);
  });
});

describe("a pattern", () => {
  it("outside of the linear subset says so", () => {
    for (const source of ["(?=a)", "(?!a)b", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?<x>a)\\k<x>", "^(?:(?:(?!b)a))$"]) {
      equal(
        readPattern(source, 10_000),
        "uses a lookaround, a backreference or flags, which cannot be matched in linear time",
      );
    }
  });

  it("with such texts in classes and escapes is within it", () => {
    for (const source of ["[(?=a)]", "\\(\\?=a\\)", "[\\1-\\5]".replace("\\1-\\5", "1-5"), "\\\\1", "[(]\\?!"]) {
      equal(typeof readPattern(source, 10_000), "object", source);
    }
  });

  it("that is no regular expression says so", () => {
    for (const source of ["(", "[b-a]", "a**", "\\-", "\\1", "{"])
      equal(readPattern(source, 10_000), NO_PATTERN, source);
  });

  it("counts what the engine was asked to read, also in vain", () => {
    const patterns = new Patterns(1_000);
    const isRead = (source: string) => !/too many states/.test(String(patterns.read(source)));
    const read = Array.from({ length: 100 }, (_, index) => isRead(`(?=${"\\p{L}".repeat(10)}${index})`));
    equal(read.filter(Boolean).length, 4);
    equal(isRead("a"), true);
    const classes = Array.from({ length: 100 }, (_, index) => isRead(`[${"a".repeat(800)}${index}]`));
    equal(classes.filter(Boolean).length, 1);
  });

  it("has a bounded number of states", () => {
    const TOO_LARGE = [
      "a{10000}",
      "(?:a{100}){101}",
      "(?:){1000000000}",
      "(?:(?:a?){1000}){1000}",
      `a{1,${"9".repeat(20)}}`,
      `(?:a{${"9".repeat(400)}}){0}b{30000}`,
      "a".repeat(10_001),
      `[${"a".repeat(80_000)}]`,
      "\\p{L}".repeat(500),
    ];
    for (const source of TOO_LARGE) {
      equal(readPattern(source, 10_000), "needs too many states (limits.maxPatternStates)", source.slice(0, 40));
    }
    equal(typeof readPattern("a".repeat(8_800), 10_000), "object");
    equal(typeof readPattern("((((((((((a+)+)+)+)+)+)+)+)+)+)+", 100), "object");
    equal(readPattern("(".repeat(300) + ")".repeat(300), 10_000), "nests groups more than 200 deep");
  });

  it("shares the states with the others of its schema", () => {
    const patterns = new Patterns(1_000);
    ok(patterns.read("^a{600}$") instanceof PatternMatcher);
    equal(patterns.read("^a{600}$"), patterns.read("^a{600}$"));
    equal(typeof patterns.read("^b{600}$"), "string");
    deepEqual(
      patterns.skipped.map(([source]) => source),
      ["^b{600}$"],
    );
  });

  it("of a library's formats is within the subset, but for those that look ahead", () => {
    const formats = {
      uuid: z.uuid(),
      ipv4: z.ipv4(),
      ipv6: z.ipv6(),
      cidrv4: z.cidrv4(),
      base64: z.base64(),
      nanoid: z.nanoid(),
      date: z.iso.date(),
      time: z.iso.time(),
      datetime: z.iso.datetime(),
      email: z.email(),
      duration: z.iso.duration(),
    };
    const outside = Object.entries(formats).filter(
      ([, format]) => typeof readPattern(String(z.toJSONSchema(format).pattern), 10_000) === "string",
    );
    deepEqual(
      outside.map(([name]) => name),
      ["duration"],
    );
  });
});

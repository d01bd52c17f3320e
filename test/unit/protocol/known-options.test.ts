import { doesNotThrow, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { assertOptions, type Known } from "#src/protocol/known-options.js";

interface Options {
  readonly name?: string;
  readonly mode?: "fast" | "safe" | undefined;
  readonly size?: number;
  readonly guard?: { readonly scopes: readonly string[] | (() => readonly string[]); readonly strict?: boolean };
  readonly cache?: boolean | { readonly ttlMs?: number };
  readonly clients?: readonly { readonly id: string }[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly rules?: { readonly [name: string]: { readonly ttlMs?: number } };
  readonly limits?: { readonly maxCalls?: number; readonly share?: number; readonly idleMs?: number };
  readonly pollMs?: number;
  readonly workers?: number;
  readonly items?: number;
  readonly clock?: { now(): number };
  readonly ttlMs?: number | null;
}

const OPTIONS: Known<Options> = {
  name: "string",
  mode: [{ string: ["fast", "safe"] }],
  size: "count",
  guard: { scopes: [{ array: "string", function: "any" }, "some"], strict: "boolean" },
  cache: [{ boolean: "any", object: { ttlMs: "ms" } }],
  clients: [{ array: { id: [{ string: "any" }, "required"] } }],
  headers: [{ map: "string" }],
  rules: [{ map: { ttlMs: "ms" } }],
  limits: { maxCalls: 5, share: 0.5, idleMs: 1000 },
  pollMs: "period",
  workers: "positive",
  items: "limit",
  clock: "object",
  ttlMs: [{ number: "positive limit", null: "any" }],
};

const check = (options: unknown) => () => assertOptions("f", options, OPTIONS, { seconds: "ttlMs" });
const refuses = (options: unknown, message: string) => throws(check(options), { name: "DefinitionError", message });

describe("options are compared with their description", () => {
  it("and pass if each has its form", () => {
    for (const options of [
      {},
      Object.create(null),
      { name: undefined, guard: undefined, headers: { a: "b" }, rules: { a: {}, b: { ttlMs: 1 } } },
      { guard: { scopes: ["a"], strict: false }, cache: true, clients: [{ id: "a" }, { id: "b" }] },
      {
        guard: { scopes: () => [] },
        cache: { ttlMs: 0 },
        mode: "safe",
        limits: { maxCalls: Number.POSITIVE_INFINITY, share: 0.1, idleMs: 0.5 },
        ...{ pollMs: 0.5, workers: 1, items: Number.POSITIVE_INFINITY, size: 0 },
      },
      { clock: { now: () => 0, more: 1 }, ttlMs: null, clients: [] },
    ])
      doesNotThrow(check(options));
  });

  it("and are refused with path and remedy if not", () => {
    for (const none of [undefined, null, 5, "a", [], () => {}]) refuses(none, "f: the options must be an object");
    refuses({ nam: "a" }, "f: unknown option nam; did you mean name?");
    refuses({ colour: undefined }, "f: unknown option colour");
    refuses({ seconds: 5 }, "f: unknown option seconds; use ttlMs");
    refuses({ name: 5 }, "f: name must be of type string, got number");
    for (const size of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
      refuses({ size }, `f: size must be a whole number of 0 or more, got ${size}`);
    for (const ttlMs of [0, 0.5, Number.NaN])
      refuses({ ttlMs }, `f: ttlMs must be a whole number of 1 or more, or Infinity for no limit, got ${ttlMs}`);
    refuses({ cache: { ttlMs: -1 } }, "f: cache.ttlMs must be a number of 0 or more, or Infinity for no limit, got -1");
    for (const pollMs of [0, Number.POSITIVE_INFINITY])
      refuses({ pollMs }, `f: pollMs must be a number above 0, got ${pollMs}`);
    refuses({ workers: 0 }, "f: workers must be a whole number of 1 or more, got 0");
    refuses({ items: 1.5 }, "f: items must be a whole number of 0 or more, or Infinity for no limit, got 1.5");
    refuses({ mode: "safer" }, 'f: mode must be "fast" or "safe", got "safer"');
    refuses({ guard: { scope: ["a"] } }, "f: guard: unknown option scope; did you mean scopes?");
    refuses({ guard: {} }, "f: guard.scopes is missing");
    refuses({ guard: { scopes: [] } }, "f: guard.scopes must not be empty");
    refuses({ guard: { scopes: ["a", null] } }, "f: guard.scopes[1] must be of type string, got null");
    refuses({ guard: { scopes: ["a"], strict: "no" } }, "f: guard.strict must be of type boolean, got string");
    refuses({ cache: "yes" }, "f: cache must be of type boolean or object, got string");
    refuses({ cache: { ttl: 5 } }, "f: cache: unknown option ttl; did you mean ttlMs?");
    refuses({ clients: { id: "a" } }, "f: clients must be of type array, got object");
    refuses({ clients: [{ id: "a" }, {}] }, "f: clients[1].id is missing");
    refuses({ clients: [undefined] }, "f: clients[0] must be of type object, got undefined");
    refuses({ headers: { a: 5 } }, "f: headers.a must be of type string, got number");
    refuses({ headers: [] }, "f: headers must be of type object, got array");
    refuses({ rules: { a: { ttl: 5 } } }, "f: rules.a: unknown option ttl; did you mean ttlMs?");
    const rule = "must be a whole number of 0 or more, or Infinity for no limit, got";
    for (const wrong of [-1, 0.5, Number.NaN, "5", null])
      refuses({ limits: { maxCalls: wrong } }, `f: limits.maxCalls ${rule} ${String(wrong)}`);
    refuses({ ttlMs: "1" }, "f: ttlMs must be of type number or null, got string");
  });

  it("for a map or another collection, whose entries would have no effect", () => {
    refuses(new Map([["name", "a"]]), "f: the options must be an object, got a Map");
    refuses({ guard: new Map([["scopes", ["a"]]]) }, "f: guard must be an object, got a Map");
  });

  it("with the path of an option that is at another depth", () => {
    refuses({ maxCalls: 5 }, "f: unknown option maxCalls; did you mean limits.maxCalls?");
    refuses({ cache: { scopes: [] } }, "f: cache: unknown option scopes; did you mean guard.scopes of f?");
    refuses({ limits: { mode: "fast" } }, "f: limits: unknown option mode; did you mean mode of f?");
  });

  it("but an instance of a class may have members of its own", () => {
    class Guard {
      readonly calls = 0;
      readonly scopes: unknown = ["a"];
    }
    doesNotThrow(check({ guard: new Guard() }));
    refuses(
      { guard: Object.assign(new Guard(), { scopes: "a" }) },
      "f: guard.scopes must be of type array or function, got string",
    );
    refuses(Object.create({ guard: { scope: ["a"] } }), "f: guard: unknown option scope; did you mean scopes?");
    class Computed {
      get size() {
        return "5";
      }
    }
    refuses(new Computed(), "f: size must be of type number, got string");
    class Empty {}
    refuses({ guard: new Empty() }, "f: guard.scopes is missing");
  });
});

/** Descriptions that TypeScript refuses. */
export const WRONG = [
  // @ts-expect-error: a member is missing
  { a: "string" } satisfies Known<{ readonly a?: string; readonly b?: string }>,
  // @ts-expect-error: there is no such member
  { a: "string", b: "string" } satisfies Known<{ readonly a?: string }>,
  // @ts-expect-error: the type is another
  { a: "number" } satisfies Known<{ readonly a?: string }>,
  // @ts-expect-error: a form is missing
  { a: "boolean" } satisfies Known<{ readonly a?: boolean | readonly string[] }>,
  // @ts-expect-error: options within options are described too
  { a: "object" } satisfies Known<{ readonly a?: { readonly b?: string } }>,
  // @ts-expect-error: so are their members
  { a: {} } satisfies Known<{ readonly a?: { readonly b?: string } }>,
  // @ts-expect-error: there is no such word
  { a: [{ string: ["b", "c"] }] } satisfies Known<{ readonly a?: "b" }>,
];

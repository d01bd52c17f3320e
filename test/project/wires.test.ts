import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Known {
  readonly title: string;
  readonly wire: string;
  readonly sometimes?: boolean;
}

const { chosenWires, isWireFilter, KnownDifferences } = await loadScript<{
  chosenWires(filters: readonly string[]): readonly { readonly name: string; readonly engine: string }[];
  isWireFilter(filter: string): boolean;
  KnownDifferences: new (
    entries: readonly Known[],
  ) => {
    readonly count: number;
    judge(test: { readonly title: string; readonly error?: string }): string | undefined;
    unused(): readonly Known[];
  };
}>("scripts/lib/wires.mjs");

const namesOf = (...filters: string[]) => chosenWires(filters).map(({ name }) => name);

test("filters choose the wires of nodes behind nginx", () => {
  const all = ["redis", "postgres"].flatMap((engine) => [`legacy-nginx-${engine}`, `modern-nginx-${engine}`]);
  deepEqual(namesOf(), all);
  deepEqual(namesOf("wires", "cancel"), all);
  deepEqual(namesOf("nginx-redis"), all.slice(0, 2));
  deepEqual(namesOf("modern-nginx-postgres", "cancel"), all.slice(3, 4));
  deepEqual(["wires", "legacy-nginx-redis", "redis", "nginx/compose"].map(isWireFilter), [true, true, false, false]);
});

test("a known difference is no failure, and must be one", () => {
  const known = new KnownDifferences([
    { title: "a:b: over there", wire: "legacy-nginx" },
    { title: "c:d", wire: "nginx", sometimes: true },
    { title: "e:f", wire: "nginx" },
  ]);
  const error = "boom";
  equal(known.judge({ title: "a:b: over there [legacy-nginx-redis]", error }), undefined);
  equal(known.judge({ title: "a:b: over there [modern-nginx-redis]", error }), error);
  equal(known.judge({ title: "a:b [legacy-nginx-redis]", error }), error);
  match(known.judge({ title: "a:b: over there [legacy-nginx-postgres]" }) ?? "", /remove the entry/);
  equal(known.judge({ title: "c:d [modern-nginx-redis]" }), undefined);
  equal(known.judge({ title: "c:d [modern-nginx-redis]", error }), undefined);
  equal(known.judge({ title: "a test without a wire", error }), error);
  equal(known.count, 2);
  deepEqual(
    known.unused().map(({ title }) => title),
    ["e:f"],
  );
});

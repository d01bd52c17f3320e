import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { type Change, isWantedBy, MemoryChangeBus } from "#src/store/change-bus.js";

test("a listener that throws is reported, and concerns neither the others nor the publisher", () => {
  const failures: unknown[] = [];
  const bus = new MemoryChangeBus((error) => failures.push(error));
  const broken = new Error("no");
  const heard: Change[] = [];
  bus.subscribe(() => {
    throw broken;
  });
  const leave = bus.subscribe((change) => heard.push(change));
  equal(bus.listeners, 2);
  bus.publish({ kind: "tools" });
  deepEqual(heard, [{ kind: "tools" }]);
  deepEqual(failures, [broken]);
  leave();
  equal(bus.listeners, 1);
  bus.publish({ kind: "prompts" });
  deepEqual(heard, [{ kind: "tools" }]);
  equal(failures.length, 2);
});

test("a listener that leaves while a change is published still lets the others hear it", () => {
  const bus = new MemoryChangeBus();
  const heard: string[] = [];
  const leave = bus.subscribe(() => {
    heard.push("first");
    leave();
  });
  bus.subscribe(() => heard.push("second"));
  bus.publish({ kind: "tools" });
  bus.publish({ kind: "tools" });
  deepEqual(heard, ["first", "second", "second"]);
});

test("a filter wants the kinds that it names, and the resources that it lists", () => {
  const kinds: readonly [Change, object][] = [
    [{ kind: "tools" }, { toolsListChanged: true }],
    [{ kind: "prompts" }, { promptsListChanged: true }],
    [{ kind: "resources" }, { resourcesListChanged: true }],
    [{ kind: "resource", uri: "a:1" }, { resourceSubscriptions: ["a:1"] }],
  ];
  for (const [change, own] of kinds) {
    for (const [other, filter] of kinds)
      equal(isWantedBy(filter, change), change === other, JSON.stringify([own, other]));
    equal(isWantedBy({}, change), false);
  }
  equal(isWantedBy({ resourceSubscriptions: ["a:1"] }, { kind: "resource", uri: "a:2" }), false);
});

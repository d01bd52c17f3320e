import { deepEqual, equal, throws } from "node:assert/strict";
import { test } from "node:test";
import { InflightTable } from "#src/protocol/jsonrpc/inflight-table.js";

test("numbers are minted around those that callers took", () => {
  const table = new InflightTable<{ id: string | number }>();
  table.add({ id: table.reserve(0) });
  table.add({ id: table.reserve("1") });
  equal(table.reserve(undefined), 2);
  equal(table.hasMinted(2), true);
  equal(table.hasMinted("2"), true);
  equal(table.hasMinted(3), false);
  equal(table.hasMinted("x"), false);
});

test("an id is taken in both its spellings, and found exactly or in either", () => {
  const table = new InflightTable<{ id: string | number }>();
  const entry = { id: 7 };
  table.add(entry);
  throws(() => table.reserve("7"), { code: "duplicate_request_id" });
  throws(() => table.reserve(Number.NaN), { code: "invalid_request_id" });
  equal(table.find("7"), entry);
  equal(table.findExactly("7"), undefined);
  equal(table.findExactly(7), entry);
  equal(table.findExactly({}), undefined);
});

test("an entry removes only itself", () => {
  const table = new InflightTable<{ id: string | number; n: number }>();
  const first = { id: "a", n: 1 };
  const second = { id: "a", n: 2 };
  table.add(first);
  equal(table.remove(first), true);
  table.add(second);
  equal(table.remove(first), false);
  deepEqual([...table.values()], [second]);
  deepEqual(table.drain(), [second]);
  equal(table.size, 0);
});

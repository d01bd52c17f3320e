import { equal } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Store, storeCluster } from "bowline/cluster";
import { storeContract } from "bowline/testing";

const program = new URL("../../../../examples/dist/store.js", import.meta.url).href;
const { Engine, MapStore } = (await import(program)) as {
  readonly Engine: new () => object;
  readonly MapStore: new (engine: object) => Store;
};

storeContract({
  test: (title, body) => test(`the store of the example: ${title}`, body),
  open: () => {
    const engine = new Engine();
    const stores = new Map<unknown, Store>();
    return {
      node: () => {
        const store = new MapStore(engine);
        const node = storeCluster(store);
        stores.set(node, store);
        return node;
      },
      crash: (node) => stores.get(node)?.close(),
      store: () => new MapStore(engine),
    };
  },
});

test("the page prints the store of the example", () => {
  const page = readFileSync(new URL("../../../../docs/stores.md", import.meta.url), "utf8");
  const file = readFileSync(new URL("../../../../examples/store.ts", import.meta.url), "utf8");
  const [, printed] = /```ts\n\/\/ store\.ts\n(.*?)```/s.exec(page) ?? [];
  equal(printed, file.slice(file.indexOf("\n") + 1));
});

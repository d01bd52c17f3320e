/** Runs the suite in a dedicated worker, and calls the functions of the page for it. */
const worker = new Worker("/worker.js", { type: "module" });
const functions = globalThis as unknown as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

worker.onmessage = async ({ data: { id, name, args } }) => {
  worker.postMessage({ id, value: await functions[name]?.(...args) });
};
worker.onerror = ({ message }) => {
  throw new Error(`the worker failed: ${message}`);
};

/** Calls a function that the program on Node gives to the page, which passes calls of this worker on. */
interface Answer {
  readonly id: number;
  readonly value: unknown;
}

const page = globalThis as unknown as {
  postMessage(call: { readonly id: number; readonly name: string; readonly args: readonly unknown[] }): void;
  onmessage: (event: { readonly data: Answer }) => void;
  [name: string]: unknown;
};
const waiting = new Map<number, (value: unknown) => void>();
let calls = 0;

page.onmessage = ({ data: { id, value } }) => waiting.get(id)?.(value);
for (const name of ["openHarbour", "closeHarbour", "report", "violated"]) {
  page[name] = (...args: readonly unknown[]) => {
    const id = calls++;
    page.postMessage({ id, name, args });
    return new Promise((resolve) => waiting.set(id, resolve));
  };
}

// What the browser tells of this worker, it tells here only.
addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => {
  (page.violated as (what: string) => void)(`against ${effectiveDirective}: ${blockedURI}`);
});

await import("./page.js");

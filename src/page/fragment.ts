import { effect } from "@preact/signals";
import { filter, PANELS, panel, picked, scheme, shown, TABS, tab } from "./state.js";

/** Reads the settings of the page from the fragment of its address, and returns the token, which is removed from it. */
export function readFragment(): string | undefined {
  const values = new URLSearchParams(location.hash.slice(1));
  const one = <T extends string>(name: string, all: readonly T[]) => all.find((each) => each === values.get(name));
  panel.value = one("panel", PANELS) ?? panel.value;
  tab.value = one("tab", TABS) ?? tab.value;
  scheme.value = one("scheme", ["light", "dark"]);
  filter.value = values.get("filter") ?? "";
  const [line, run] = [values.get("pick"), values.get("run")].map((text) => (text === null ? undefined : Number(text)));
  if (Number.isInteger(run)) shown.value = run as number;
  if (Number.isInteger(line)) picked.value = line;
  return values.get("token") ?? undefined;
}

/** Keeps the settings in the fragment, so that a reload shows the same, and nothing is stored. */
export function keepFragment(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const values = new URLSearchParams();
    if (panel.value !== "calls") values.set("panel", panel.value);
    if (tab.value !== "frames") values.set("tab", tab.value);
    if (scheme.value !== undefined) values.set("scheme", scheme.value);
    if (filter.value !== "") values.set("filter", filter.value);
    if (shown.value !== 0) values.set("run", String(shown.value));
    if (picked.value !== undefined) values.set("pick", String(picked.value));
    const text = values.toString();
    clearTimeout(timer);
    // Browsers limit how often an address may change.
    timer = setTimeout(
      () => history.replaceState(null, "", `${location.pathname}${text === "" ? "" : `#${text}`}`),
      250,
    );
  });
}

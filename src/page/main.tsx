import { effect } from "@preact/signals";
import { render } from "preact";
import { openEmbedded } from "./files.js";
import { keepFragment, readFragment } from "./fragment.js";
import { openLink } from "./link.js";
import { visible } from "./model/visible.js";
import { failure, openQuestions, run, scheme } from "./state.js";
import { App } from "./view/app.js";
import { showHiddenCharacters } from "./view/visible-text.js";

const token = readFragment();
keepFragment();
effect(() => {
  if (scheme.value === undefined) delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme.value;
});
effect(() => {
  const questions = openQuestions.value.length;
  const name = run.value?.connections.find(({ server }) => server !== undefined)?.server ?? run.value?.name;
  document.title = `${questions > 0 ? `(${questions}) ` : ""}${name === undefined ? "" : `${visible(name)} – `}Inspector`;
});
showHiddenCharacters();
render(<App />, document.getElementById("app") as HTMLElement);
try {
  if (!openEmbedded() && location.protocol !== "file:") await openLink(token);
} catch (error) {
  failure.value = (error as Error).message;
}

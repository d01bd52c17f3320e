import { defined } from "../protocol/json.js";
import type { Editable } from "../server/definitions/catalogue.js";

/** Handle of a registered tool, prompt or resource. `Changes` are the members that `update` can replace. */
export interface CompatRegistration<Changes = object> {
  readonly enabled: boolean;
  enable(): void;
  disable(): void;
  update(changes: Changes & { readonly enabled?: boolean | undefined }): void;
  remove(): void;
}

/**
 * Creates the handle of a definition. `given` has the options in the form of the official SDK, and `toOptions` converts
 * them to options of Bowline. An update with a member that is null removes the definition.
 */
export function toRegistration<Given extends object, Options>(
  edit: Editable<Options>,
  given: Given,
  toOptions: (given: Given) => Options,
): CompatRegistration<{ [Member in keyof Given]?: unknown }> {
  let present = given;
  return {
    get enabled() {
      return edit.enabled;
    },
    enable: () => edit.enable(),
    disable: () => edit.disable(),
    remove: () => edit.remove(),
    update({ enabled, ...changes }) {
      if (Object.values(changes).includes(null)) return edit.remove();
      present = { ...present, ...defined<object>(changes) };
      edit.update(toOptions(present));
      if (enabled !== undefined) edit[enabled ? "enable" : "disable"]();
    },
  };
}

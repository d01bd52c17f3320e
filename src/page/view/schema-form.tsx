import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { type Entered, type Field, keyOf } from "../model/form.js";

interface FieldsProps {
  readonly fields: readonly Field[];
  readonly entered: Signal<Entered>;
  readonly problems: ReadonlyMap<string, string>;
  readonly prefix: string;
}

/** Controls for the fields of a JSON Schema. */
export function Fields({ fields, entered, problems, prefix }: FieldsProps): JSX.Element {
  return (
    <div class="fields">
      {fields.map((field) =>
        field.kind === "group" ? (
          <fieldset key={field.name}>
            <legend>
              <FieldTitle field={field} />
            </legend>
            {field.description && <p class="muted">{field.description}</p>}
            <Fields fields={field.fields} entered={entered} problems={problems} prefix={prefix} />
          </fieldset>
        ) : (
          <Control
            key={field.name}
            field={field}
            entered={entered}
            problem={problems.get(keyOf(field.path))}
            prefix={prefix}
          />
        ),
      )}
    </div>
  );
}

function FieldTitle({ field: { title, isRequired, kind } }: { readonly field: Field }): JSX.Element {
  const types: Readonly<Partial<Record<Field["kind"], string>>> = {
    number: "number",
    integer: "whole number",
    json: "JSON",
    choices: "any of",
    boolean: "yes or no",
  };
  return (
    <>
      <span class="field-name">{title}</span>
      <span class="muted">
        {[types[kind], isRequired ? "required" : undefined].filter((each) => each !== undefined).join(", ")}
      </span>
    </>
  );
}

interface ControlProps {
  readonly field: Field;
  readonly entered: Signal<Entered>;
  readonly problem: string | undefined;
  readonly prefix: string;
}

function Control({ field, entered, problem, prefix }: ControlProps): JSX.Element {
  const { path, kind, description, hint, choices, title, isRequired } = field;
  const key = keyOf(path);
  const id = `${prefix}-${path.join("-").replaceAll(/[^\w-]/g, "_")}`;
  const value = entered.value.get(key);
  const enter = (next: string | readonly string[] | undefined) => {
    const all = new Map(entered.value);
    if (next === undefined) all.delete(key);
    else all.set(key, next);
    entered.value = all;
  };
  const notes = [description, hint].filter(Boolean);
  const described = {
    "aria-describedby": notes.length > 0 || problem ? `${id}-note` : undefined,
    "aria-invalid": problem !== undefined,
  };
  const below = (
    <div class="field-note" id={`${id}-note`}>
      {problem !== undefined && <p class="problem">{problem}</p>}
      {description && <p>{description}</p>}
      {hint && <p>{hint}</p>}
    </div>
  );
  if (kind === "boolean" || kind === "choices" || (kind === "choice" && choices.length <= 4)) {
    const options =
      kind === "boolean"
        ? [
            ["true", "yes"],
            ["false", "no"],
          ]
        : choices.map((choice, index) => [String(index), choice.title]);
    const chosen = Array.isArray(value) ? value : [value];
    const isMany = kind === "choices";
    return (
      <fieldset class="field choices" aria-describedby={described["aria-describedby"]}>
        <legend>
          <FieldTitle field={field} />
        </legend>
        <div class="options">
          {options.map(([one = "", name]) => (
            <label key={one}>
              <input
                type={isMany ? "checkbox" : "radio"}
                name={id}
                checked={chosen.includes(one)}
                onChange={(event) => {
                  if (!isMany) enter(one);
                  else
                    enter(
                      event.currentTarget.checked
                        ? [...chosen.filter((each) => each !== undefined), one]
                        : chosen.filter((each) => each !== one && each !== undefined),
                    );
                }}
              />
              {name}
            </label>
          ))}
          {!isRequired && !isMany && value !== undefined && (
            <button type="button" class="quiet" onClick={() => enter(undefined)} aria-label={`Clear ${title}`}>
              clear
            </button>
          )}
        </div>
        {below}
      </fieldset>
    );
  }
  const text = typeof value === "string" ? value : "";
  const onInput = (event: { readonly currentTarget: { readonly value: string } }) =>
    enter(event.currentTarget.value === "" && !(isRequired && kind === "text") ? undefined : event.currentTarget.value);
  return (
    <div class="field">
      <label for={id}>
        <FieldTitle field={field} />
      </label>
      {kind === "choice" ? (
        <select id={id} value={text} onChange={onInput} {...described}>
          <option value="">–</option>
          {choices.map((choice, index) => (
            <option key={choice.title} value={String(index)}>
              {choice.title}
            </option>
          ))}
        </select>
      ) : kind === "long" || kind === "json" ? (
        <textarea
          id={id}
          class={kind === "json" ? "code" : ""}
          rows={4}
          value={text}
          onInput={onInput}
          spellcheck={kind === "long"}
          {...described}
        />
      ) : field.input === "date" ? (
        <input id={id} type="date" value={text} onInput={onInput} {...described} />
      ) : (
        <input
          id={id}
          type="text"
          inputMode={kind === "text" ? "text" : "decimal"}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={onInput}
          {...described}
        />
      )}
      {below}
    </div>
  );
}

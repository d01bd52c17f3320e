import { DefinitionError } from "../schema/errors.js";
import type { UsableSchema } from "../schema/standard.js";

interface Described {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Described[];
  readonly oneOf?: readonly Described[];
}

/** Refuses a schema of arguments that come as texts where a member takes none, neither as it says nor by coercion. */
export function assertTexts(where: string, schema: UsableSchema): void {
  const { properties = {} } = schema.jsonSchema as { readonly properties?: { readonly [name: string]: Described } };
  for (const [name, described] of Object.entries(properties)) {
    if (takesText(described) || coerces(schema, name, described)) continue;
    throw new DefinitionError(
      `${where}: /${name} can never fit: the arguments of a prompt come as texts; ` +
        "let the schema take one, as z.coerce or a transform of z.string() does",
    );
  }
}

/** What a schema says in other ways than these is not looked into. */
function takesText({ type, enum: values, const: only, anyOf, oneOf }: Described): boolean {
  const options = anyOf ?? oneOf;
  if (options !== undefined) return options.some(takesText);
  const listed = values ?? (only === undefined ? undefined : [only]);
  if (listed !== undefined) return listed.some((value) => typeof value === "string");
  return type === undefined || type.includes("string");
}

/** Whether a text is as good as what it stands for: it is taken, or refused for the same reason, as one that is too small. */
function coerces(schema: UsableSchema, name: string, { type }: Described): boolean {
  const isNumber = type === "number" || type === "integer";
  const texts = isNumber ? ["1"] : ["true", "1", "a"];
  const complaints = texts.map((text) => complaintAbout(schema, name, text));
  return complaints.includes("") || (isNumber && complaints[0] === complaintAbout(schema, name, 1));
}

/** What a schema says of a value in one place, whatever else is missing. Who says it later, or fails, says nothing. */
function complaintAbout(schema: UsableSchema, name: string, value: unknown): string {
  try {
    const parsed = schema.parse({ [name]: value });
    if (parsed instanceof Promise) {
      parsed.catch(() => {});
      return "";
    }
    if (parsed.ok) return "";
    return parsed.issues.flatMap(({ path, message }) => (isAt(path, name) ? message : [])).join();
  } catch {
    return "";
  }
}

function isAt(path: string, name: string): boolean {
  const [, first = ""] = path.split("/");
  return first.replace(/~1/g, "/").replace(/~0/g, "~") === name;
}

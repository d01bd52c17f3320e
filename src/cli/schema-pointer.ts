import { isObject } from "../protocol/json.js";

/** Returns the part of a schema that a reference inside of it names, or undefined. */
export function lookUp(reference: string, root: unknown): unknown {
  if (!reference.startsWith("#")) return undefined;
  if (reference !== "#" && !reference.startsWith("#/")) return anchored(reference.slice(1), root);
  let found = root;
  for (const part of reference.slice(2).split("/").filter(Boolean)) {
    const key = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(found)) found = found[Number(key)];
    else found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}

/** Returns the definition with a plain name. */
function anchored(name: string, root: unknown): unknown {
  const { $defs, definitions } = isObject(root) ? root : {};
  const all = [$defs, definitions].flatMap((defs) => (isObject(defs) ? Object.values(defs) : []));
  return all.find((one) => isObject(one) && one.$anchor === name);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign that begins no code stands for itself.
    return text;
  }
}

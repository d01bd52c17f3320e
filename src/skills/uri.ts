import { SKILL_FILE } from "./types.js";

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/;

/** Characters that neither a path segment nor a registered name may contain. */
const ENCODED = /[^A-Za-z0-9._~!$&'()*+,;=-]/gu;

/** True if the text is a URI scheme. */
export function isScheme(text: string): boolean {
  return SCHEME.test(text);
}

/** Returns the URI of a path such as `acme/refunds/SKILL.md`. Percent-encodes its segments. */
export function toUri(scheme: string, path: string): string {
  return `${scheme}://${path.split("/").map(encodeSegment).join("/")}`;
}

/** Returns the URI of a decoded path below a skill's root, such as `references/forms.md`. The root has an empty path. */
export function uriBelow(root: string, path: string): string {
  return path === "" ? root : `${root}/${path.split("/").map(encodeSegment).join("/")}`;
}

function encodeSegment(segment: string): string {
  return segment.replace(ENCODED, (character) => encodeURIComponent(character));
}

/** Returns the URI of the directory of a SKILL.md, without a slash at the end. Undefined for any other URI. */
export function rootOf(uri: string): string | undefined {
  const ending = `/${SKILL_FILE}`;
  const root = uri.endsWith(ending) ? uri.slice(0, -ending.length) : "";
  return lastSegment(root) === undefined ? undefined : root;
}

/** Returns the name of a skill from the URI of its SKILL.md. */
export function nameOf(uri: string): string | undefined {
  const root = rootOf(uri);
  return root === undefined ? undefined : lastSegment(root);
}

function lastSegment(root: string): string | undefined {
  const [, path = ""] = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^?#]+)$/.exec(root) ?? [];
  const segment = decodeSegment(path.slice(path.lastIndexOf("/") + 1));
  return segment === "" ? undefined : segment;
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/**
 * Returns the decoded path of a URI below a skill's root, such as `references/forms.md`. Undefined if the URI is not
 * below the root, or if a segment is empty, a dot, or contains a separator in an encoded form.
 */
export function pathBelow(root: string, uri: string): string | undefined {
  if (!uri.startsWith(`${root}/`)) return undefined;
  return normalPath(uri.slice(root.length + 1));
}

/**
 * Returns the decoded path of a URI of the scheme, such as `acme/refunds/SKILL.md`. Servers and clients may encode the
 * same path differently. Undefined if the URI is not a plain path.
 */
export function pathOf(scheme: string, uri: string): string | undefined {
  const start = `${scheme}://`;
  return uri.startsWith(start) ? normalPath(uri.slice(start.length)) : undefined;
}

/** True for a decoded path that is relative and cannot leave its directory in any reading of it. */
export function isPath(path: string): boolean {
  return path.split("/").every(isSegment);
}

/** Decodes a relative path. Undefined if it could leave its directory in any reading of it, or has a query. */
export function normalPath(path: string): string | undefined {
  if (/[?#]/.test(path)) return undefined;
  const segments = path.split("/").map(decodeSegment);
  return segments.every(isSegment) ? segments.join("/") : undefined;
}

function isSegment(segment: string | undefined): segment is string {
  return segment !== undefined && !/^\.{0,2}$/.test(segment) && !/[/\\\0\p{Cs}]/u.test(segment);
}

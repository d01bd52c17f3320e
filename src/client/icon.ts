import { followSameOrigin } from "../http/client/send.js";
import { joinBytes } from "../protocol/bytes.js";
import { McpError } from "../protocol/errors.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import { quoted } from "../protocol/text.js";
import type { Icon } from "../protocol/types/index.js";

/** Options of {@link loadIcon}. */
export interface IconOptions {
  /** URL of the server that the icon belongs to. Icons of its origin may be fetched. */
  readonly server?: string | URL | undefined;
  /** Other origins from which icons may be fetched. */
  readonly allowOrigins?: readonly string[] | undefined;
  /**
   * Accepts SVG, which can contain scripts. Display it only where scripts cannot run.
   * @default false
   */
  readonly allowSvg?: boolean | undefined;
  /**
   * Maximum size of an icon in bytes.
   * @default 256 KiB
   */
  readonly maxBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Replacement for `fetch`. It gets no credentials and must add none. */
  readonly fetch?: ((url: URL, init: RequestInit) => Promise<Response>) | undefined;
}

const OPTIONS: Known<IconOptions> = {
  server: "any",
  allowOrigins: [{ array: "string" }],
  allowSvg: "boolean",
  maxBytes: "limit",
  signal: "object",
  fetch: "function",
};

/** Icon with its content. */
export interface LoadedIcon {
  readonly bytes: Uint8Array;
  /** Media type, detected from the content. */
  readonly mimeType: string;
  /** True if the image can contain scripts. */
  readonly active: boolean;
}

const MAX_BYTES = 256 * 1024;

/** True if the source of an icon is safe to load: an `https:` URL without credentials, or a `data:` URI of an image. */
export function isSafeIcon(src: string): boolean {
  // Refuses leading characters that the URL parser would ignore.
  const url = /^[a-z]/i.test(src) && URL.canParse(src) ? new URL(src) : undefined;
  if (url?.protocol === "data:") return /^image\//i.test(url.pathname);
  return url?.protocol === "https:" && url.username === "" && url.password === "";
}

/**
 * Loads an icon of a server safely: only from https or a data URI, only from the server's origin and allowed origins,
 * without credentials, with a limited size, and only if the content is an image.
 */
export async function loadIcon(icon: Icon, options: IconOptions = {}): Promise<LoadedIcon> {
  assertOptions({ loadIcon }, options, OPTIONS);
  if (!isSafeIcon(icon.src))
    throw refused(
      `its src must be an https: URL without credentials, or a data: URI of an image, got ${quoted(icon.src, 60)}`,
    );
  const { maxBytes = MAX_BYTES } = options;
  const isData = /^data:/i.test(icon.src);
  const { bytes, type } = isData ? decodeData(icon.src, maxBytes) : await download(icon.src, options, maxBytes);
  const mimeType = sniff(bytes);
  if (mimeType === undefined) throw refused("its content is not a PNG, JPEG, WebP or SVG image");
  for (const declared of [icon.mimeType, type]) {
    if (declared !== undefined && normal(declared) !== mimeType)
      throw refused(`its content is ${mimeType}, but it was declared as ${quoted(normal(declared))}`);
  }
  const active = mimeType === "image/svg+xml";
  if (active && options.allowSvg !== true) throw refused("SVG may contain scripts (option allowSvg)");
  return { bytes, mimeType, active };
}

async function download(
  src: string,
  options: IconOptions,
  maxBytes: number,
): Promise<{ bytes: Uint8Array; type: string | undefined }> {
  const url = URL.canParse(src) ? new URL(src) : undefined;
  if (url === undefined || url.username !== "" || url.password !== "")
    throw refused("its URL must not contain credentials");
  const own = options.server === undefined ? undefined : new URL(options.server).origin;
  const allowed = [own, ...(options.allowOrigins ?? [])];
  if (!allowed.includes(url.origin))
    throw refused(`its origin ${url.origin} is neither the server's nor in allowOrigins`);
  const init: RequestInit = {
    method: "GET",
    redirect: "manual",
    credentials: "omit",
    referrerPolicy: "no-referrer",
    cache: "no-store",
  };
  if (options.signal !== undefined) init.signal = options.signal;
  const load = options.fetch ?? ((at, how) => fetch(at, how));
  const response = await followSameOrigin(url, true, (at) => load(at, init));
  if (response.status !== 200) {
    await response.body?.cancel();
    throw refused(`its server responded with status ${response.status}`);
  }
  return { bytes: await readAtMost(response, maxBytes), type: response.headers.get("content-type") ?? undefined };
}

/** Reads the body. Throws if it is longer than `maxBytes`. */
async function readAtMost(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {};
    if (done || value === undefined) break;
    size += value.length;
    if (size > maxBytes) {
      await reader?.cancel();
      throw refused(`it has more than ${maxBytes} bytes (option maxBytes)`);
    }
    chunks.push(value);
  }
  return joinBytes(chunks);
}

function decodeData(src: string, maxBytes: number): { bytes: Uint8Array; type: string } {
  const comma = src.indexOf(",");
  const head = src.slice("data:".length, comma < 0 ? 0 : comma);
  const isBase64 = /;base64$/i.test(head);
  if (comma < 0) throw refused("its data: URI has no comma before the data");
  if ((src.length - comma) * (isBase64 ? 0.75 : 1 / 3) > maxBytes + 3)
    throw refused(`it has more than ${maxBytes} bytes (option maxBytes)`);
  let bytes: Uint8Array;
  try {
    const text = decodeURIComponent(src.slice(comma + 1));
    bytes = isBase64 ? Uint8Array.from(atob(text), (char) => char.charCodeAt(0)) : new TextEncoder().encode(text);
  } catch {
    throw refused("its data: URI cannot be decoded");
  }
  if (bytes.length > maxBytes) throw refused(`it has more than ${maxBytes} bytes (option maxBytes)`);
  return { bytes, type: head };
}

/** Detects the media type from the first bytes. Returns undefined for unsupported content. */
function sniff(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 12));
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (start.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (start.startsWith("RIFF") && start.slice(8, 12) === "WEBP") return "image/webp";
  const text = new TextDecoder().decode(bytes.subarray(0, 1024));
  return /^\s*(?:<\?xml[^>]*>\s*|<!--[^>]*-->\s*|<!DOCTYPE svg[^>]*>\s*)*<svg[\s>]/i.test(text)
    ? "image/svg+xml"
    : undefined;
}

function normal(type: string): string {
  const plain = (type.split(";")[0] ?? "").trim().toLowerCase();
  return plain === "image/jpg" ? "image/jpeg" : plain;
}

function refused(why: string): McpError {
  return new McpError("unsafe_icon", `The icon was not loaded: ${why}`);
}

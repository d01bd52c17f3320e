import { globalFetch, type Send, sendBy } from "./send.js";

/**
 * Sends by the `fetch` of a page or worker. A browser hides why a request failed and where a redirect leads, so the
 * errors name the likely cause.
 */
export const sendFromPage: Send = sendBy(async (url, init) => {
  const response = await globalFetch(url, init).catch((error: unknown) => {
    throw error instanceof TypeError ? explained(error, url) : error;
  });
  if (response.type === "opaqueredirect")
    throw new TypeError("it redirects, and a page cannot see where to: connect to that URL");
  return response;
});

/**
 * `location` is that of the page or worker. Runtimes that are no browser have none. The origin of a sandboxed page is
 * "null", whatever its location.
 */
function explained(error: TypeError, { origin }: URL): TypeError {
  if (globalThis.location === undefined || globalThis.origin === origin) return error;
  const rules = `its http.cors and http.allowedOrigins must allow ${globalThis.origin}, and this page's CSP must allow ${origin}`;
  return new TypeError(`${error.message}; if the server runs: ${rules}`);
}

/** Nothing that is said about tokens may be kept on the way. */
export const NOT_STORED = { "cache-control": "no-store", pragma: "no-cache" } as const;

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json", ...headers } });
}

/** Sends a browser on. After a form it is 303, so that nothing of the form goes along. */
export function redirect(request: Request, location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, "referrer-policy": "no-referrer", ...NOT_STORED });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: request.method === "POST" ? 303 : 302, headers });
}

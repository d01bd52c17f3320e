import { AuthError, type AuthStore, oauth } from "bowline/auth/client";
import type { ProtocolVersion } from "bowline/client";
import { connect } from "bowline/client";
import { check, ERAS, equal, type Outcome } from "../suite.js";

declare global {
  /** Serves a new server that requires a token, and returns its URL. */
  function openProtected(): Promise<string>;
}

/** Survives the way to the authorization server and back, in this tab. */
const store: AuthStore = {
  textOnly: true,
  get: (key) => JSON.parse(sessionStorage.getItem(key) ?? "null") ?? undefined,
  set: (key, value) => sessionStorage.setItem(key, JSON.stringify(value)),
  delete: (key) => sessionStorage.removeItem(key),
};

const auth = oauth({
  clientName: "page",
  warnDeprecated: false,
  redirectUrl: new URL("/callback", location.href).href,
  authorize: (url) => void location.assign(url),
  store,
  fetch,
});

async function call(url: string, version: string): Promise<void> {
  const client = await connect(url, { ...auth, versions: [version as ProtocolVersion] });
  equal((await client.callTool("echo", { text: "ahoy" })).text, "ahoy");
  await client.close();
}

if (location.pathname === "/") {
  const url = await openProtected();
  sessionStorage.setItem("url", url);
  await call(url, ERAS.modern).catch((error: unknown) => {
    if (!(error instanceof AuthError) || error.step !== "redirected") throw error;
  });
} else {
  const url = sessionStorage.getItem("url") as string;
  const outcomes: Outcome[] = [await check("login", "finish", () => auth.finish(location.href))];
  for (const [era, version] of Object.entries(ERAS)) outcomes.push(await check("login", era, () => call(url, version)));
  outcomes.push(await check("login", "close", () => closeHarbour(url)));
  await report(outcomes);
}

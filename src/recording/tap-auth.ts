import { type Fetch, globalFetch } from "../http/client/send.js";
import type { AuthEvent } from "./events.js";

/** What the tap of authorization writes to. */
interface AuthRecorder {
  /** Returns microseconds since the recording began. */
  now(): number;
  add(event: Omit<AuthEvent, "t">): void;
}

/** Steps of authorization by what their addresses have. */
const STEPS: readonly (readonly [step: string, address: RegExp])[] = [
  ["resource metadata", /\/\.well-known\/oauth-protected-resource/],
  ["server metadata", /\/\.well-known\/(?:oauth-authorization-server|openid-configuration)/],
  ["keys", /jwks|\/keys$|\/certs$/],
  ["registration", /regist/],
  ["revocation", /revo/],
];

/** Wraps the `fetch` that authorization sends by. Records addresses, statuses and times, and no bodies. */
export function tapAuthFetch(inner: Fetch | undefined, recorder: AuthRecorder): Fetch {
  return async (url, init) => {
    const from = recorder.now();
    const about = { k: "auth", step: stepOf(url, init), url: url.href } as const;
    try {
      const response = await (inner ?? globalFetch)(url, init);
      recorder.add({ ...about, status: response.status, us: recorder.now() - from });
      return response;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      recorder.add({ ...about, us: recorder.now() - from, error: message });
      throw error;
    }
  };
}

function stepOf({ pathname }: URL, { body }: RequestInit): string {
  const grant = new URLSearchParams(typeof body === "string" || body instanceof URLSearchParams ? body : "");
  if (grant.has("grant_type")) return "token";
  return STEPS.find(([, address]) => address.test(pathname))?.[0] ?? "request";
}

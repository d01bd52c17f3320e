import type { Network } from "../../doctor/network.js";
import { requestBy } from "../../node/outgoing/request.js";
import { usualFetch, usualGuardedFetch } from "../../node/outgoing/usual-fetch.js";

/** Time for the handshake of a certificate. */
const HANDSHAKE_MS = 5_000;

/** Sends the doctor's requests. */
export const NODE_NETWORK: Network = {
  fetch: usualFetch,
  raw: (url, init) => requestBy(url, init, {}),
  guarded: usualGuardedFetch,
  certificateEnd,
};

/** Returns the time at which the certificate of a server ends, trusted or not. Undefined if it has none. */
async function certificateEnd({ hostname, port }: URL, signal: AbortSignal): Promise<number | undefined> {
  const [{ connect }, { isIP }] = await Promise.all([import("node:tls"), import("node:net")]);
  const host = hostname.replace(/^\[|\]$/g, "");
  return new Promise((resolve) => {
    // Nothing but the certificate is read, which is why it need not be trusted.
    const servername = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({ host, port: Number(port) || 443, ...servername, rejectUnauthorized: false });
    const finish = (end?: number) => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      resolve(end);
    };
    const onAbort = () => finish();
    signal.addEventListener("abort", onAbort, { once: true });
    socket.setTimeout(HANDSHAKE_MS, onAbort);
    socket.on("error", onAbort);
    socket.once("secureConnect", () => {
      const end = Date.parse(socket.getPeerCertificate().valid_to);
      finish(Number.isNaN(end) ? undefined : end);
    });
  });
}

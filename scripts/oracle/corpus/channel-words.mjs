import { ALL_CAPABILITIES, enveloped, INITIALIZED, initializeMessage } from "./requests.mjs";

const capabilities = ALL_CAPABILITIES;

export const request = (id, method, params) => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params !== undefined && { params }),
});
export const notification = (method, params) => ({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
export const cancel = (requestId, reason) =>
  notification("notifications/cancelled", { requestId, ...(reason && { reason }) });

/** Returns the functions that wrap messages in the form of an era. */
export function wordsOf(era) {
  if (era === "modern") {
    return {
      opening: [],
      ask: (id, method, params = {}, meta = {}) => request(id, method, enveloped(params, { capabilities, meta })),
    };
  }
  return {
    opening: [{ send: initializeMessage(era, capabilities) }, { send: INITIALIZED }],
    ask: (id, method, params, meta) => request(id, method, meta === undefined ? params : { ...params, _meta: meta }),
  };
}

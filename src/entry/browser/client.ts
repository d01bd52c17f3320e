import { connectWith } from "../../client/connect.js";
import { Group } from "../../client/group/group.js";
import { PAGE_LIMITS } from "../../era/client-limits.js";
import { sendFromPage } from "../../http/client/page.js";
import { sendBy } from "../../http/client/send.js";
import { McpError } from "../../protocol/errors.js";
import type * as client from "../client.js";
import { createDialer } from "../dialer.js";

const dialer = createDialer({
  limits: PAGE_LIMITS,
  send: async (_limits, fetch) => (fetch === undefined ? sendFromPage : sendBy(fetch)),
  spawn: async ({ command }) => {
    const problem = `the command ${JSON.stringify(command)} cannot be started: pages and workers have no processes`;
    throw new McpError("no_processes", `connect: ${problem}. Serve the server over HTTP and pass its URL`);
  },
});

export const connect: typeof client.connect = async (target, options = {}) => connectWith(dialer, target, options);

export const createGroup: typeof client.createGroup = (config, options = {}) => new Group(config, options, connect);

export * from "../client-common.js";

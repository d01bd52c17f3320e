import { createBearerWith } from "../../auth/client/bearer.js";
import { createOAuthWith } from "../../auth/client/oauth.js";
import { toSettings } from "../../auth/client/settings.js";
import { createStepsWith } from "../../auth/client/steps.js";
import { globalFetch } from "../../http/client/send.js";
import type * as auth from "../auth-client.js";
import { createPlatform } from "../auth-platform.js";

const platform = createPlatform(globalFetch);

export const oauth: typeof auth.oauth = (options = {}) => createOAuthWith(options, platform);

export const createAuthSteps: typeof auth.createAuthSteps = (server, options = {}) =>
  createStepsWith(new URL(server), toSettings("createAuthSteps", options, platform));

export const bearer: typeof auth.bearer = (options) => createBearerWith(options, platform);

export * from "../auth-client-common.js";

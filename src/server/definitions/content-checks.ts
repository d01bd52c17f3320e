import { late } from "../../call/lazy.js";

/** What results of authors are held to, loaded with the first that is more than text. */
export const contentChecks = late(() => import("../../protocol/shapes/content.js"));

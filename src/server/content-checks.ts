import { late } from "../schema/late.js";

/** What results of authors are held to, loaded with the first that is more than text. */
export const contentChecks = late(() => import("../schema/content-shapes.js"));

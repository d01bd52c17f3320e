import type { Rule } from "../rule.js";
import { AUTH } from "./auth.js";
import { HTTP } from "./http.js";
import { START } from "./start.js";
import { STDIO } from "./stdio.js";

/** All rules, in the order of the list. A new rule is one more member of its group's file; a new group is one more line here. */
export const RULES: readonly Rule[] = [...START, ...STDIO, ...HTTP, ...AUTH];

import type { Rule } from "../rule.js";
import { AUTH } from "./auth.js";
import { CALL, DRAIN } from "./call.js";
import { CATALOGUE } from "./catalogue.js";
import { COST } from "./cost.js";
import { ERA } from "./era.js";
import { HOSTS } from "./hosts.js";
import { HTTP } from "./http.js";
import { SCHEMA } from "./schema.js";
import { START } from "./start.js";
import { STDIO } from "./stdio.js";

/** All rules, in the order of the list. A new rule is a member of its group's file; a new group is one more name here. */
export const RULES: readonly Rule[] = [
  ...START,
  ...STDIO,
  ...HTTP,
  ...ERA,
  ...AUTH,
  ...CATALOGUE,
  ...SCHEMA,
  ...COST,
  ...CALL,
  ...DRAIN,
  ...HOSTS,
];

import type { CommandContext } from "../context.js";
import { call } from "./call.js";
import { completion } from "./completion.js";
import { list } from "./list.js";
import { prompt } from "./prompt.js";
import { read } from "./read.js";
import { skills } from "./skills.js";
import { tasks } from "./tasks.js";
import { watch } from "./watch.js";

/**
 * Commands by name. They are one file of the package, since Node takes longer for a file than for the code in it. Parts that
 * few need are loaded on demand.
 */
export const RUN: Readonly<Record<string, (context: CommandContext) => Promise<void>>> = {
  list,
  call,
  read,
  prompt,
  watch,
  tasks,
  skills,
  doctor: async (context) => (await import("./doctor.js")).doctor(context),
  record: async (context) => (await import("./record.js")).record(context),
  replay: async (context) => (await import("./replay.js")).replay(context),
  inspect: async (context) => (await import("./inspect.js")).inspect(context),
  types: async (context) => (await import("./types.js")).types(context),
  login: async (context) => (await import("./login.js")).login(context),
  logout: async (context) => (await import("./logout.js")).logout(context),
  init: async (context) => (await import("./init.js")).init(context),
  install: async (context) => (await import("./install.js")).install(context),
  completion,
};

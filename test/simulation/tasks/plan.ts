import type { Dice } from "../dice.js";

/** Tools of the simulated servers, with the way in which they run as tasks. */
export const TOOLS = {
  once: { support: "required" },
  again: { support: "required", restartable: true },
  twice: { support: "optional", restartable: true, attempts: 2 },
  promoted: { promoteAfterMs: 300, restartable: true },
  "promoted-once": { promoteAfterMs: 300 },
} as const;

export type ToolName = keyof typeof TOOLS;

/** Time after which the call of each tool that begins in its request has surely become a task. */
const PROMOTED_MS = 400;

/** Time of a step that ends later than everything else. */
const LONG_MS = 45_000;

/** Part of a handler. The names are those of steps, or the keys of questions. */
export interface Part {
  readonly kind: "wait" | "steps" | "ask";
  /** More than one are done side by side. */
  readonly names: readonly string[];
  /** Time that each takes. */
  readonly ms: readonly number[];
}

/** Work of a task and the behaviour of its client. A handler follows it each time that it runs. */
export interface Plan {
  readonly tool: ToolName;
  readonly parts: readonly Part[];
  /** False if the handler does not stop when its signal aborts. */
  readonly stops: boolean;
  readonly answers: boolean;
  readonly watches: boolean;
  /** Time after which the client cancels the task. */
  readonly cancelMs: number | undefined;
}

export function planTask(dice: Dice): Plan {
  const tool = dice.pick(Object.keys(TOOLS) as ToolName[]);
  const isPromoted = "promoteAfterMs" in TOOLS[tool];
  const parts = Array.from({ length: dice.whole(1, 4) }, (_, at) => planPart(dice, at));
  const cancelMs = dice.chance(20) ? dice.between(0, 4_000) : undefined;
  // A handler that takes long shows that a cancellation reaches it.
  if (cancelMs !== undefined && dice.chance(50)) parts.push({ kind: "steps", names: ["long"], ms: [LONG_MS] });
  // Before the promotion, questions are those of the request, which are not part of tasks.
  const asks = parts.some(({ kind }) => kind === "ask");
  const waitMs = asks ? PROMOTED_MS : dice.between(0, 2 * PROMOTED_MS);
  return {
    tool,
    parts: isPromoted ? [{ kind: "wait", names: ["wait"], ms: [waitMs] }, ...parts] : parts,
    stops: dice.chance(80),
    answers: dice.chance(90),
    watches: dice.chance(50),
    cancelMs,
  };
}

function planPart(dice: Dice, at: number): Part {
  const kind = dice.pick(["wait", "steps", "steps", "steps", "ask", "ask"] as const);
  const count = dice.chance(65) ? 1 : dice.whole(2, 3);
  const names = Array.from({ length: kind === "wait" ? 1 : count }, (_, number) => `${kind}-${at}-${number}`);
  const duration = () => (dice.chance(60) ? dice.between(0, 100) : dice.between(100, dice.chance(80) ? 2_000 : 9_000));
  return { kind, names, ms: names.map(duration) };
}

import type { Client } from "../../client/client.js";
import type { ClientOptions } from "../../client/options.js";
import { dial } from "../../inspect/dial.js";
import type { Recording } from "../../recording/recording.js";
import type { CommandContext } from "../context.js";
import { EXIT } from "../failures.js";
import type { PlannedTarget, ServerPlan } from "../target.js";
import { visible, visibleLine } from "../text.js";
import { createRecording, problemOf, redactedText } from "./destination.js";

/** Begins the recording of `--record`. */
export async function openRecorder(name: string, plan: ServerPlan, context: CommandContext): Promise<CommandRecorder> {
  const destination = { overwrite: context.values.overwrite === true, redaction: { values: secretsOf(plan) } };
  return new CommandRecorder(name, await createRecording(name, destination, context.io), context);
}

/** Records the traffic of a command with its server. */
export class CommandRecorder {
  readonly #name: string;
  readonly #recording: Recording;
  readonly #context: CommandContext;

  constructor(name: string, recording: Recording, context: CommandContext) {
    this.#name = name;
    this.#recording = recording;
    this.#context = context;
    if (context.values.verbose === true) this.#showStderr();
  }

  connect(target: PlannedTarget, options: ClientOptions): Promise<Client> {
    return dial(this.#recording, target, options);
  }

  /** Ends the recording and tells what was replaced. One that could not be written fails the command. */
  async close(): Promise<void> {
    const { screen } = this.#context;
    try {
      await this.#recording.close();
    } catch (error) {
      screen.error(`${screen.tint("red", "bowline:")} ${visibleLine(problemOf(this.#name, error).message)}`);
      this.#context.exit ||= EXIT.usage;
      return;
    }
    const told = redactedText(this.#recording.redacted);
    screen.note(screen.tint("dim", `recorded in ${visibleLine(this.#name)}; ${told}`));
  }

  #showStderr(): void {
    const { screen } = this.#context;
    this.#recording.subscribe((event) => {
      if (event.k !== "stderr") return;
      for (const line of event.text.trimEnd().split("\n"))
        screen.note(screen.tint("dim", `  stderr  ${visible(line)}`));
    });
  }
}

/** Returns the values that the command line or a configuration gives to the server, by name. */
export function secretsOf({ targets, options }: ServerPlan): { readonly [name: string]: string } {
  const values: Record<string, string> = {};
  for (const target of targets)
    if (typeof target !== "string" && "command" in target) Object.assign(values, target.env);
  for (const [name, value] of new Headers(options.headers))
    values[name] = value.replace(/^(?:basic|bearer|dpop) +/i, "");
  return values;
}

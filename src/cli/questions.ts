import type { AnswerContext, AnswerOptions } from "../client/options.js";
import { UserRejectedError } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
} from "../protocol/types/index.js";
import {
  type Content,
  fieldsOf,
  GivenAnswers,
  isRequired,
  labelledChoices,
  missingFields,
  readField,
} from "./answers.js";
import type { CommandContext } from "./context.js";
import { CommandError, EXIT, UsageError } from "./failures.js";
import { listOf, textValue } from "./parse.js";
import { Prompter } from "./prompter.js";
import { visible, visibleLine } from "./text.js";
import { readInput } from "./values.js";

/** Answers questions of the server: from the command line, else by asking on the terminal, one after the other. */
export class Questions {
  readonly #context: CommandContext;
  readonly #given: GivenAnswers;
  readonly #prompter: Prompter;
  readonly #script: unknown[] | undefined;
  readonly #canAsk: boolean;
  /** Aborts the call with the question that nobody can answer. */
  readonly #end = new AbortController();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(context: CommandContext, script: unknown[] | undefined) {
    this.#context = context;
    this.#given = new GivenAnswers(listOf("answer", context.values));
    this.#prompter = new Prompter(context.io);
    this.#script = script;
    const { stdin, stderr } = context.io;
    this.#canAsk = stdin.isTTY === true && stderr.isTTY === true;
  }

  /** Reads the answers of the command line. */
  static async open(context: CommandContext): Promise<Questions> {
    const { values, io } = context;
    if (values["accept-all"] === true && values["decline-all"] === true)
      throw new UsageError("--accept-all and --decline-all contradict each other");
    const file = textValue("answers", values);
    if (file === undefined) return new Questions(context, undefined);
    const text = await readInput(`@${file}`, "answers", io);
    let script: unknown;
    try {
      script = JSON.parse(text);
    } catch {
      throw new UsageError(`--answers ${file}: is not valid JSON`);
    }
    if (!Array.isArray(script))
      throw new UsageError(`--answers ${file}: must be an array with an answer for each question`);
    return new Questions(context, script);
  }

  /** Ends the call if a question cannot be answered. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Handlers for `connect`. A person can play the model only on a terminal, or in a file of answers. */
  get handlers(): AnswerOptions {
    const canReply = this.#canAsk || this.#script !== undefined;
    return {
      onElicit: (question, ctx) => this.#inTurn(ctx, () => this.#answerForm(question, ctx)),
      onElicitUrl: (question, ctx) => this.#inTurn(ctx, () => this.#answerUrl(question, ctx)),
      ...(canReply && {
        onSample: (request: CreateMessageParams, ctx: AnswerContext) =>
          this.#inTurn(ctx, () => this.#reply(request, ctx)),
      }),
    };
  }

  /** Tells answers that no question asked for. */
  tellUnused(): void {
    const { unused } = this.#given;
    if (unused.length > 0)
      this.#context.screen.note(`Nothing asked for: ${unused.map((name) => `--answer ${name}`).join(", ")}`);
  }

  /** Questions that arrive together are asked one after the other. A mistake ends the call. */
  #inTurn<T>(ctx: AnswerContext, work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(async () => {
      ctx.signal.throwIfAborted();
      try {
        const { progress } = this.#context;
        return await (progress === undefined ? work() : progress.pausedWhile(work));
      } catch (error) {
        if (error instanceof CommandError) this.#end.abort(error);
        throw error;
      }
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #answerForm(question: ElicitFormParams, ctx: AnswerContext): Promise<ElicitResult> {
    const { values } = this.#context;
    if (this.#script !== undefined) return this.#scripted(question);
    if (values["decline-all"] === true) return { action: "decline" };
    const content = this.#given.forForm(question);
    const isAnswered = Object.keys(content).length > 0 || values["accept-all"] === true;
    if (isAnswered && missingFields(question, content).length === 0)
      return { action: "accept", content: toContent(content) };
    if (!this.#canAsk) throw this.#unanswered(question, formHint(question));
    return this.#askForm(question, content, ctx);
  }

  async #askForm(question: ElicitFormParams, given: Content, { signal }: AnswerContext): Promise<ElicitResult> {
    const { screen, io } = this.#context;
    this.#head("asks", question.message);
    const fields = fieldsOf(question);
    if (fields.length === 0) {
      const text = await this.#prompter.ask("  Accept? (y/n) ", { signal });
      return { action: text !== undefined && /^y(?:es)?$/i.test(text) ? "accept" : "decline" };
    }
    const content: Content = { ...given };
    for (const [name, field] of fields) {
      if (content[name] !== undefined) continue;
      const { title, description, default: preset, type } = field as Readonly<Record<string, string | undefined>>;
      if (description !== undefined) io.stderr.write(`  ${screen.tint("dim", visibleLine(description))}\n`);
      for (const [index, { label }] of (labelledChoices(field) ?? []).entries())
        io.stderr.write(`    ${index + 1}) ${visibleLine(label)}\n`);
      const kind = type === "boolean" ? " (y/n)" : type === "array" ? " (numbers, with commas)" : "";
      const optional = isRequired(name, question) || preset !== undefined ? "" : " (optional)";
      const shown = preset === undefined ? "" : ` [${visibleLine(presetText(preset))}]`;
      for (;;) {
        const label = `  ${visibleLine(title ?? name)}${kind}${rangeOf(field)}${optional}${shown}: `;
        const text = await this.#prompter.ask(label, { signal });
        if (text === undefined) return { action: "decline" };
        if (text === "" && (preset !== undefined || !isRequired(name, question))) break;
        const read = text === "" ? { problem: "is required" } : readField(field, text);
        if ("value" in read) {
          content[name] = read.value;
          break;
        }
        io.stderr.write(`  ${screen.tint("yellow", visibleLine(read.problem))}\n`);
      }
    }
    return { action: "accept", content: toContent(content) };
  }

  async #answerUrl(question: ElicitUrlParams, { signal }: AnswerContext): Promise<ElicitResult> {
    const { values, screen, io } = this.#context;
    if (this.#script !== undefined) return this.#scripted(question);
    if (values["decline-all"] === true) return { action: "decline" };
    if (values["accept-all"] === true) {
      screen.error(`Open this page: ${visibleLine(question.url)}`);
      return { action: "accept" };
    }
    if (!this.#canAsk) throw this.#unanswered(question, "--accept-all prints the URL and continues");
    this.#head("asks you to open a page", question.message);
    io.stderr.write(`  host  ${screen.tint("bold", visibleLine(new URL(question.url).host))}\n`);
    io.stderr.write(`  URL   ${visibleLine(question.url)}\n`);
    const text = await this.#prompter.ask("  Open it in the browser? (y/n) ", { signal });
    if (text === undefined || !/^y(?:es)?$/i.test(text)) return { action: "decline" };
    const { openPage } = await import("./open-page.js");
    openPage(new URL(question.url), this.#context, `Open this page: ${visibleLine(question.url)}`);
    return { action: "accept" };
  }

  async #reply(request: CreateMessageParams, { signal }: AnswerContext): Promise<CreateMessageResult> {
    const { values, screen, io } = this.#context;
    if (this.#script !== undefined) return toMessage(this.#nextReply(request));
    if (values["decline-all"] === true) throw new UserRejectedError();
    this.#head("asks a model, which you play", `up to ${request.maxTokens} tokens`);
    const { systemPrompt, messages } = request;
    const parts = [
      ...(systemPrompt === undefined ? [] : [["system", systemPrompt]]),
      ...messages.map(({ role, content }) => [role, textOfMessage(content)]),
    ];
    for (const [role = "", text = ""] of parts)
      io.stderr.write(`  ${screen.tint("bold", visibleLine(role))}  ${visible(text).replaceAll("\n", "\n    ")}\n`);
    io.stderr.write(`  ${screen.tint("dim", "An empty line ends the reply; Ctrl-D declines.")}\n`);
    const lines: string[] = [];
    for (;;) {
      const line = await this.#prompter.ask("  > ", { signal });
      if (line === undefined) throw new UserRejectedError();
      if (line === "") break;
      lines.push(line);
    }
    return toMessage(lines.join("\n"));
  }

  /** Takes the next answer of the file: fields of a form, "accept", "decline" or "cancel". */
  #scripted(question: ElicitFormParams | ElicitUrlParams): ElicitResult {
    const answer = this.#nextOf(question);
    if (answer === "accept" || answer === "decline" || answer === "cancel") return { action: answer };
    if (isObject(answer) && question.mode !== "url") return { action: "accept", content: toContent(answer as Content) };
    throw new UsageError('--answers: an answer must be an object of fields, "accept", "decline" or "cancel"');
  }

  #nextReply(request: CreateMessageParams): string {
    const answer = this.#nextOf(request);
    if (answer === "decline") throw new UserRejectedError();
    if (isObject(answer) && typeof answer.reply === "string") return answer.reply;
    throw new UsageError('--answers: the answer to a model request must be { "reply": "text" } or "decline"');
  }

  #nextOf(question: object): unknown {
    if (this.#script!.length === 0) throw this.#unanswered(question, "--answers has no more answers");
    return this.#script!.shift();
  }

  #head(what: string, message: string): void {
    const { screen, io } = this.#context;
    const who = visibleLine(this.#context.serverName);
    io.stderr.write(`\n${screen.tint("bold", `${who} ${what}:`)} ${visible(message).replaceAll("\n", "\n    ")}\n`);
  }

  #unanswered(question: object, hint: string): CommandError {
    const message = `the server asks a question, and nobody is here to answer it: ${hint}`;
    return new CommandError(EXIT.question, "question", message, { question });
  }
}

/** Returns the options that answer a form. */
function formHint(question: ElicitFormParams): string {
  const missing = missingFields(question, {});
  const names = missing.length > 0 ? missing : fieldsOf(question).map(([name]) => name);
  return names.length === 0
    ? "--accept-all or --decline-all"
    : names.map((name) => `--answer ${name}=<value>`).join(" ");
}

function toContent(content: Content): NonNullable<ElicitResult["content"]> {
  return content as NonNullable<ElicitResult["content"]>;
}

function presetText(preset: unknown): string {
  return preset === true ? "y" : preset === false ? "n" : Array.isArray(preset) ? preset.join(", ") : String(preset);
}

function rangeOf({ minimum, maximum, format }: Readonly<Record<string, unknown>>): string {
  if (minimum !== undefined && maximum !== undefined) return ` (${minimum} to ${maximum})`;
  if (minimum !== undefined) return ` (at least ${minimum})`;
  if (maximum !== undefined) return ` (at most ${maximum})`;
  const forms: Readonly<Record<string, string>> = { date: " (YYYY-MM-DD)", "date-time": " (YYYY-MM-DDThh:mm:ssZ)" };
  return (typeof format === "string" && forms[format]) || "";
}

function toMessage(text: string): CreateMessageResult {
  return { role: "assistant", content: { type: "text", text }, model: "a person", stopReason: "endTurn" };
}

function textOfMessage(content: CreateMessageParams["messages"][number]["content"]): string {
  return [content]
    .flat()
    .map((part) => (part.type === "text" ? part.text : `[${part.type}]`))
    .join("\n");
}

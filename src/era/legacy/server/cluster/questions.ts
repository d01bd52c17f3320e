import type { Cluster } from "../../../../cluster/cluster.js";
import { isUnknown } from "../../../../cluster/error.js";
import { each, update } from "../../../../cluster/update.js";
import type { RequestId, RpcResponse } from "../../../../protocol/jsonrpc/message.js";
import type { HttpSession } from "../http-session.js";
import type { SharedQuestions } from "../shared-sessions.js";
import type { Control } from "./control.js";
import type { Retries } from "./retries.js";

/** Maximum length of the description of a malformed response. */
const MAX_PROBLEM_CHARS = 500;

/** Longest lifetime of a question: a day. The process that asked deletes it when it has the response or gives up. */
const LIFE_MS = 86_400_000;

interface QuestionRecord {
  readonly session: string;
  readonly response?: RpcResponse;
}

export interface QuestionsOptions {
  readonly cluster: Cluster;
  readonly control: Control;
  readonly retries: Retries;
  /** Lists this process among those whose questions are deleted after their death, unless it is listed. */
  enlist(): Promise<void> | undefined;
  /** Returns the local part of a session. */
  local(session: string): HttpSession | undefined;
  report(error: unknown): void;
}

/**
 * Questions of running calls to their clients. A question is a record, so that the process that receives the response
 * can give it to the process that asked. The id of a question names its process.
 */
export class Questions implements SharedQuestions {
  readonly #cluster: Cluster;
  readonly #control: Control;
  readonly #retries: Retries;
  readonly #enlist: () => Promise<void> | undefined;
  readonly #local: (session: string) => HttpSession | undefined;
  readonly #report: (error: unknown) => void;
  /** Sessions of the open questions of this process. */
  readonly #open = new Map<string, string>();

  constructor({ cluster, control, retries, enlist, local, report }: QuestionsOptions) {
    this.#cluster = cluster;
    this.#control = control;
    this.#retries = retries;
    this.#enlist = enlist;
    this.#local = local;
    this.#report = report;
  }

  async open(session: string): Promise<string> {
    const enlisting = this.#enlist();
    if (enlisting !== undefined) await enlisting;
    const { node, records } = this.#cluster;
    const id = `${node}:${crypto.randomUUID()}`;
    const value: QuestionRecord = { session };
    const options = { ttlMs: LIFE_MS, ifVersion: null, index: [{ index: questionsOf(node), score: 0 }] };
    try {
      await records.put(keyOf(id), JSON.stringify(value), options);
    } catch (error) {
      // Otherwise there is nothing to delete.
      if (isUnknown(error)) this.close(id);
      throw error;
    }
    this.#open.set(id, session);
    return id;
  }

  close(id: string): void {
    this.#open.delete(id);
    const { records } = this.#cluster;
    this.#try(() => this.#retries.inBackground(async () => records.delete(keyOf(id))));
  }

  /** True if another process has asked the question with this id. */
  isElsewhere(id: unknown): id is string {
    return typeof id === "string" && QUESTION_ID.test(id) && !id.startsWith(`${this.#cluster.node}:`);
  }

  /** Stores a response. Nothing happens unless the question is open and belongs to the session. */
  async answer(session: string, response: RpcResponse): Promise<void> {
    const { id } = response;
    if (!this.isElsewhere(id)) return;
    let isOpen = false;
    await update(this.#cluster.records, keyOf(id), (stored) => {
      const question = stored === undefined ? undefined : (JSON.parse(stored.value) as QuestionRecord);
      isOpen = question?.session === session;
      if (!isOpen || question?.response !== undefined) return undefined;
      const value: QuestionRecord = { session, response };
      const index = [{ index: questionsOf(nodeOf(id)), score: 0 }];
      return { value: JSON.stringify(value), ttlMs: LIFE_MS, index };
    });
    if (!isOpen) return;
    this.#control.publish({ kind: "answered", session, id });
  }

  fail(session: string, id: RequestId | undefined, problem: string): void {
    if (!this.isElsewhere(id)) return;
    this.#control.publish({ kind: "failed", session, id, problem: problem.slice(0, MAX_PROBLEM_CHARS) });
  }

  /** Gives the stored response of a question to the call that waits for it. */
  onAnswered(id: string): void {
    const session = this.#open.get(id);
    if (session !== undefined) this.#try(() => this.#settle(id, session));
  }

  /** Reads all open questions of this process, since announcements may have been missed, or questions been deleted. */
  readAll(): void {
    for (const id of this.#open.keys()) this.onAnswered(id);
  }

  /** Deletes the questions of this process, which shuts down. */
  shutDown(): Promise<void> {
    return this.forget(this.#cluster.node);
  }

  /** Deletes the questions of a process that has died. */
  async forget(node: string): Promise<void> {
    const { records } = this.#cluster;
    for await (const { key } of each(records, questionsOf(node))) await records.delete(key);
  }

  /** Looks for the response of an open question. */
  async #settle(id: string, session: string): Promise<void> {
    const { records } = this.#cluster;
    const read = async () => (this.#open.has(id) ? records.get(keyOf(id)) : undefined);
    const stored = await this.#retries.inBackground(read, { name: `read ${id}` });
    if (stored === undefined)
      return this.#local(session)?.failQuestion(id, "The process that asked was declared dead by the others");
    const { response } = JSON.parse(stored.value) as QuestionRecord;
    if (response !== undefined) this.#local(session)?.settle(response);
  }

  #try(work: () => Promise<unknown>): void {
    work().catch(this.#report);
  }
}

const QUESTION_ID = /^[^:]+:[0-9a-f-]{36}$/;

function nodeOf(id: string): string {
  return id.slice(0, id.indexOf(":"));
}

function keyOf(id: RequestId): string {
  return `question:${id}`;
}

function questionsOf(node: string): string {
  return `questions of ${node}`;
}

import { setMaxListeners } from "node:events";

/** User of a lane's clients. Some questions are answered at once, others stay open until they are cancelled. */
export class Questions {
  #open = new Set();
  #waiting = [];
  /** Maximum number of questions that were open at once. */
  most = 0;

  get open() {
    return this.#open.size;
  }

  /** Handler of questions for a client. */
  answer = ({ message }, { signal }) => {
    if (message !== "never" && !message.startsWith("hold")) return answerTo(message);
    // All questions of a call may share its signal.
    setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      const question = { resolve, giveUp: () => this.#end(question, () => reject(signal.reason)) };
      this.#open.add(question);
      this.most = Math.max(this.most, this.#open.size);
      question.settle = () => this.#end(question, () => resolve({ action: "cancel" }));
      question.stop = () => signal.removeEventListener("abort", question.giveUp);
      if (signal.aborted) question.giveUp();
      else signal.addEventListener("abort", question.giveUp, { once: true });
      for (const tell of this.#waiting.splice(0)) tell();
    });
  };

  /** Resolves when the next question is asked, when the call has ended, or after a while. */
  asked(call, ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.push(done);
      call.then(done, done);
    });
  }

  /** Answers all open questions. */
  release() {
    for (const question of [...this.#open]) question.settle();
  }

  #end(question, settle) {
    if (!this.#open.delete(question)) return;
    question.stop();
    settle();
  }
}

/** Returns the answer to a question. */
export function answerTo(message) {
  return message.endsWith("2")
    ? { action: "decline" }
    : { action: "accept", content: { answer: message.toUpperCase() } };
}

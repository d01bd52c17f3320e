import type { NatsClient, NatsLine, NatsMessage } from "#src/nats/client.js";

type Answer = (path: string, body: string) => object | undefined;

/** Connection without a server. Requests to JetStream get the answer of a function. */
export interface FakeLine extends NatsLine {
  /** Delivers a message to the last subscription. */
  deliver(message: Partial<NatsMessage>): void;
}

export function fakeLine(answer: Answer): FakeLine {
  let listener: (message: NatsMessage) => void = () => {};
  return {
    version: "2.9.10",
    maxPayload: 1_048_576,
    inbox: "_INBOX",
    hasJetStream: true,
    async request(subject, body) {
      const found = answer(subject.replace("$JS.API.", ""), body);
      if (found === undefined) throw new Error(`the test does not expect a request to ${subject}`);
      return messageOf({ text: () => JSON.stringify(found) });
    },
    publish() {},
    async flush() {},
    subscribe(_subject, next) {
      listener = next;
      return () => {};
    },
    close() {},
    deliver: (message) => listener(messageOf(message)),
  };
}

export const clientOf = (line: NatsLine): NatsClient => ({
  open: async (onClose) => ({ ...line, close: onClose }),
});

function messageOf(message: Partial<NatsMessage>): NatsMessage {
  return { subject: "", reply: "", status: 0, text: () => "", header: () => "", ...message };
}

import type { Cluster } from "../../cluster/cluster.js";
import { deepEqual, equal } from "./assert.js";
import { type Case, until } from "./world.js";

export interface Inbox {
  readonly texts: string[];
  readonly from: string[];
  leave(): unknown;
}

export async function listen(node: Cluster, topic: string): Promise<Inbox> {
  const texts: string[] = [];
  const from: string[] = [];
  const leave = await node.bus.subscribe(topic, (text, sender) => {
    texts.push(text);
    from.push(sender);
  });
  return { texts, from, leave };
}

/** Resolves once the inbox has a text. A text that another text of its sender precedes has then arrived, too. */
export const arrival = (inbox: Inbox, text: string) => until(() => inbox.texts.includes(text), `arrival of ${text}`);

export function busContract(add: Case): void {
  messages(add);
  listeners(add);
}

function messages(add: Case): void {
  add("a message reaches all nodes, the sender included, with the name of its sender", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    const [own, other] = [await listen(a, "t"), await listen(b, "t")];
    await a.bus.publish("t", "ü\n🙂");
    await Promise.all([own, other].map((inbox) => arrival(inbox, "ü\n🙂")));
    deepEqual([own.from, other.from], [[a.node], [a.node]]);
  });

  add("messages of each sender arrive once and in order", async ({ node }) => {
    const [a, b, c] = [await node(), await node(), await node()];
    const inbox = await listen(c, "t");
    const send = async ({ bus, node }: Cluster) => {
      const sent = Array.from({ length: 100 }, async (_, at) => bus.publish("t", `${node} ${at}`));
      await Promise.all(sent);
      await bus.publish("t", `end of ${node}`);
    };
    await Promise.all([a, b, c].map(send));
    for (const sender of [a, b, c]) {
      await arrival(inbox, `end of ${sender.node}`);
      const texts = inbox.texts.filter((_, at) => inbox.from[at] === sender.node);
      deepEqual(
        texts.slice(0, -1),
        Array.from({ length: 100 }, (_, at) => `${sender.node} ${at}`),
      );
    }
    equal(inbox.texts.length, 303);
  });

  add("a message reaches listeners of its topic only", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    const [one, two] = [await listen(b, "one"), await listen(b, "two")];
    await a.bus.publish("one", "1");
    await a.bus.publish("two", "2");
    await a.bus.publish("nobody listens", "3");
    await Promise.all([arrival(one, "1"), arrival(two, "2")]);
    deepEqual([one.texts, two.texts], [["1"], ["2"]]);
  });

  add("a message that a listener publishes comes after the one that it heard", async ({ node }) => {
    const a = await node();
    await a.bus.subscribe("t", (text) => {
      if (text === "question") void a.bus.publish("t", "answer");
    });
    const second = await listen(a, "t");
    await a.bus.publish("t", "question");
    await arrival(second, "answer");
    deepEqual(second.texts, ["question", "answer"]);
  });
}

function listeners(add: Case): void {
  add("a listener that left hears nothing, the others go on", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    const [gone, stays] = [await listen(b, "t"), await listen(b, "t")];
    await a.bus.publish("t", "1");
    await Promise.all([arrival(gone, "1"), arrival(stays, "1")]);
    await gone.leave();
    await gone.leave();
    await a.bus.publish("t", "2");
    await arrival(stays, "2");
    deepEqual([gone.texts, stays.texts], [["1"], ["1", "2"]]);
    await stays.leave();
    await a.bus.publish("t", "3");
    const again = await listen(b, "t");
    await a.bus.publish("t", "4");
    await arrival(again, "4");
    deepEqual([stays.texts, again.texts], [["1", "2"], ["4"]]);
  });

  add("a listener that comes while the last one leaves hears everything", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    for (let round = 0; round < 10; round++) {
      const gone = await listen(b, "t");
      const leaving = gone.leave();
      const next = await listen(b, "t");
      await leaving;
      await a.bus.publish("t", `round ${round}`);
      await arrival(next, `round ${round}`);
      deepEqual([gone.texts, next.texts], [[], [`round ${round}`]]);
      await next.leave();
    }
  });

  add("no gap is told while nothing is lost", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    let gaps = 0;
    b.bus.onGap(() => gaps++);
    const inbox = await listen(b, "t");
    for (let at = 0; at < 50; at++) await a.bus.publish("t", String(at));
    await arrival(inbox, "49");
    equal(gaps, 0);
  });
}

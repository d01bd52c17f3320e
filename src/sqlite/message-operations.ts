import { counterOf, type Session } from "./database.js";

/** Operations on messages, in the thread. */
export function messageOperations(session: Session) {
  const { database, of } = session;
  const nextMessage = counterOf(session, "message");
  const insert = database.prepare(`insert into ${of("messages")} (id, sender, topic, text, at) values (?, ?, ?, ?, ?)`);
  const last = database.prepare(`select value from ${of("counters")} where name = 'message'`);
  return {
    publish(sender: string, topic: string, text: string): void {
      insert.run(nextMessage(), sender, topic, text, session.now);
    },
    /** Leaves a number out, which is a gap to all processes. */
    skipMessage(): void {
      nextMessage();
    },
    /** Returns the number of the last message. */
    lastMessage: (): number => Number(last.get()?.value),
  };
}

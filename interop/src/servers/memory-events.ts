/** An event store of the official SDKs in memory: events of all streams in one list. */
export class MemoryEvents<Message> {
  readonly #events: { readonly id: string; readonly stream: string; readonly message: Message }[] = [];

  async storeEvent(stream: string, message: Message): Promise<string> {
    const id = String(this.#events.length + 1);
    this.#events.push({ id, stream, message });
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.find((event) => event.id === id)?.stream;
  }

  async replayEventsAfter(
    last: string,
    { send }: { send: (id: string, message: Message) => Promise<void> },
  ): Promise<string> {
    const stream = (await this.getStreamIdForEventId(last)) ?? "";
    const later = this.#events.slice(Number(last)).filter((event) => event.stream === stream);
    for (const { id, message } of later) await send(id, message);
    return stream;
  }
}

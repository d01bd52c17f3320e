const BYTES_PER_TOKEN = 4.5;

/** Returns the bytes of a value as UTF-8 JSON. */
export function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value) ?? "").length;
}

/** Returns about how many tokens a number of bytes costs a model. */
export function tokensOf(bytes: number): number {
  return Math.round(bytes / BYTES_PER_TOKEN);
}

/** Returns the bytes of a tool as hosts give it to a model. */
export function toolBytes({ name, description, inputSchema }: ToolText): number {
  return bytesOf({ name, description, input_schema: inputSchema });
}

interface ToolText {
  readonly name: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
}

/** The workload that every adapter serves. An adapter expresses it with its SDK and adds nothing. */
export const info = { name: "bench", version: "1.0.0" };

export const progressSteps = 100;

const sentence = 'The quick brown fox jumps over the lazy dog; "quoted", tab\tand newline follow here.\n';
const textOf = (bytes) => sentence.repeat(Math.ceil(bytes / sentence.length)).slice(0, bytes);

export const resources = [
  { name: "1k", uri: "bench://text/1k", mimeType: "text/plain", text: textOf(1024) },
  { name: "1m", uri: "bench://text/1m", mimeType: "text/plain", text: textOf(1_048_576) },
];

/** Number of tools: 101, unless the measurement is about their number. `echo` is always one of them. */
const toolCount = Number(process.env.BENCH_TOOLS ?? 101);

export const hasProgress = toolCount >= 2;
export const hasSlow = toolCount >= 3;

export const extraTools = Array.from({ length: Math.max(0, toolCount - 3) }, (_, index) => ({
  name: `tool_${index}`,
  description: `Further tool number ${index}: looks something up and answers with a short text.`,
}));

export const descriptions = {
  echo: "Echo the text back",
  progress: "Report progress 100 times",
  slow: "Wait for cancellation",
};

export const text = (value) => ({ content: [{ type: "text", text: value }] });

/** Milliseconds of a clock that all processes of the machine share. */
export const clock = () => Number(process.hrtime.bigint()) / 1e6;

/** Record of the slow tool: how many calls began and were cancelled, and the times by tag for calls with a tag. */
export const seen = { started: 0, cancelled: 0, at: new Map() };

export const handlers = {
  echo: (args) => text(args.text),
  extra: (args) => text(args.query),

  /** Reports progress 100 times. `send(progress, total)` reports it once in the SDK's way. */
  async progress(send) {
    for (let step = 1; step <= progressSteps; step++) await send(step, progressSteps);
    return text("done");
  },

  /** Ends only by its signal, or after two minutes if a cancellation is lost. */
  slow(tag, signal) {
    seen.started++;
    return new Promise((resolve) => {
      const guard = setTimeout(() => resolve(text("nobody cancelled this call")), 120_000);
      guard.unref();
      const end = () => {
        if (tag !== "") seen.at.set(tag, clock());
        seen.cancelled++;
        clearTimeout(guard);
        resolve(text("cancelled"));
      };
      if (signal?.aborted) end();
      else signal?.addEventListener("abort", end, { once: true });
    });
  },
};

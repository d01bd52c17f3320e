const quietMs = 20_000;

/**
 * Shows progress on stderr: one line that is rewritten on a terminal, or else a line per section and one now and then.
 */
export function createProgress(total, stream = process.stderr) {
  const begun = performance.now();
  const seconds = () => `${Math.round((performance.now() - begun) / 1000)} s`;
  let number = 0;
  let current = "";
  let told = begun;
  const clear = () => stream.isTTY && stream.write("\r\x1b[K");
  return {
    current: () => current,
    section(name) {
      current = name;
      number++;
      told = performance.now() - quietMs;
      this.step("");
    },
    step(text) {
      const line = `[${number}/${total}] ${current}${text && `: ${text}`} (${seconds()})`;
      if (!stream.isTTY) {
        if (performance.now() - told < quietMs) return;
        told = performance.now();
        return stream.write(`${line}\n`);
      }
      stream.write(`\r\x1b[K${line.slice(0, (stream.columns ?? 80) - 1)}`);
    },
    say(line) {
      clear();
      stream.write(`${line}\n`);
    },
  };
}

/** Progress on stderr: one line that is rewritten on a terminal, one line per section elsewhere. */
export function createProgress(total, stream = process.stderr) {
  const begun = performance.now();
  const seconds = () => `${Math.round((performance.now() - begun) / 1000)} s`;
  let number = 0;
  let current = "";
  const clear = () => stream.isTTY && stream.write("\r\x1b[K");
  return {
    section(name) {
      current = name;
      number++;
      if (!stream.isTTY) stream.write(`[${number}/${total}] ${name} (${seconds()})\n`);
      else this.step("");
    },
    step(text) {
      if (!stream.isTTY) return;
      const line = `[${number}/${total}] ${current}${text && `: ${text}`} (${seconds()})`;
      stream.write(`\r\x1b[K${line.slice(0, (stream.columns ?? 80) - 1)}`);
    },
    say(line) {
      clear();
      stream.write(`${line}\n`);
    },
    end() {
      clear();
      return seconds();
    },
  };
}

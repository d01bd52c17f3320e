/** Redraws a screen of the terminal in place, and restores the terminal when the process ends in any way. */
export class Terminal {
  #isOpen = false;

  get screen() {
    const { columns, rows } = process.stdout; // 0 if the terminal does not know its size
    return { columns: columns || 80, rows: rows || 24, colours: !process.env.NO_COLOR };
  }

  /** Shows the screen. `onGone` is called if the terminal is closed. */
  open(onKey: (key: string) => void, onGone: () => void): void {
    this.#isOpen = true;
    process.on("exit", () => this.close());
    process.stdin
      .setRawMode(true)
      .setEncoding("utf8")
      .on("end", onGone)
      .on("data", (keys) => {
        for (const key of String(keys)) onKey(key);
      });
    process.stdout.write("\u001b[?1049h\u001b[?25l"); // the other screen, without a cursor
  }

  /** Writes all lines at once, each over its predecessor, so that nothing flickers. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const text = lines.map((line) => `${line}\u001b[K`).join("\r\n");
    process.stdout.write(`\u001b[?2026h\u001b[H${text}\u001b[J\u001b[?2026l`);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.stdin.setRawMode(false).pause();
    process.stdout.write("\u001b[?25h\u001b[?1049l");
  }
}

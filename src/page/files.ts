import { parseRecording } from "../recording/reader.js";
import { Run } from "./model/run.js";
import { addRun, announce, failure, runs } from "./state.js";

/** Element with a recording in the page itself. */
const EMBEDDED = "script[type='application/x-ndjson']";

/** Opens the recordings that the page contains. Returns true if there were any. */
export function openEmbedded(): boolean {
  const found = [...document.querySelectorAll<HTMLScriptElement>(EMBEDDED)];
  runs.value = found.map((element, index) =>
    runOf(element.dataset.name ?? `recording ${index + 1}`, element.textContent.trimStart()),
  );
  return found.length > 0;
}

function runOf(name: string, recording: string | Uint8Array): Run {
  const { header, events } = parseRecording(recording);
  return new Run(name, header, events);
}

/** Opens files that the user chose. */
export async function openFiles(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    try {
      addRun(runOf(file.name, new Uint8Array(await file.arrayBuffer())));
      announce(`${file.name} is open.`);
    } catch (error) {
      failure.value = `${file.name}: ${(error as Error).message}`;
    }
  }
}

/** Opens a recording that the inspector has read. */
export async function openFrom(address: string, name: string): Promise<void> {
  const response = await fetch(address);
  if (response.ok) runs.value = [...runs.value, runOf(name, new Uint8Array(await response.arrayBuffer()))];
  else failure.value = `${name}: status ${response.status}`;
}

/** Gives the user a file. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Writes a run as a recording, line by line as it came. */
export function textOf({ header, events }: Run): string {
  const lines: unknown[] = header === undefined ? [] : [header];
  for (const { line: _, ...event } of events) lines.push(event);
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

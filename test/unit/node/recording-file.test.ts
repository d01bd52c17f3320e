import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { recordingFile } from "bowline/node";
import { Recording, RecordingError, replayServer } from "bowline/testing";
import { parseRecording } from "#src/recording/reader.js";
import { harbour } from "../../support/recorded-wires.js";

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "bowline-recording-"));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test("a file has the lines of the recording, for its owner alone, and is replayed by its path", async (t) => {
  const path = join(folder(t), "deep", "moor.rec.ndjson");
  const recording = new Recording({ to: recordingFile(path) });
  const client = await connect(...recording.client(harbour()));
  await client.callTool("moor", { ship: "Maria" });
  await client.close();
  await recording.close();
  const text = readFileSync(path, "utf8");
  equal(text, recording.text());
  equal(parseRecording(text).complete, true);
  if (process.platform !== "win32") equal(statSync(path).mode & 0o777, 0o600);
  ok(!existsSync(`${path}.lock`));
  const server = await replayServer(path);
  const again = await connect(server);
  equal((await again.callTool("moor", { ship: "Maria" })).text, "Maria is moored");
  await again.close();
  server.assertDone();
});

test("a file that exists is kept, unless it may be replaced", async (t) => {
  const path = join(folder(t), "a.rec.ndjson");
  writeFileSync(path, "kept");
  const first = new Recording({ to: recordingFile(path) });
  await rejects(first.close(), {
    code: "recording_exists",
    message: /exists: choose another name, or pass overwrite: true/,
  });
  equal(readFileSync(path, "utf8"), "kept");
  ok(!existsSync(`${path}.lock`));
  const second = new Recording({ to: recordingFile(path, { overwrite: true }) });
  await second.close();
  match(readFileSync(path, "utf8"), /^\{"mcpRecording":1,/);
});

test("a file has one writer at a time; the lock of a process that has ended is replaced", async (t) => {
  const path = join(folder(t), "a.rec.ndjson");
  const first = new Recording({ to: recordingFile(path) });
  first.note("first");
  while (!existsSync(`${path}.lock`) || readFileSync(`${path}.lock`, "utf8") === "") await new Promise(setImmediate);
  const second = new Recording({ to: recordingFile(path, { overwrite: true }) });
  await rejects(second.close(), {
    code: "recording_locked",
    message: new RegExp(`process ${process.pid}: wait for it`),
  });
  await first.close();
  deepEqual(
    parseRecording(readFileSync(path, "utf8")).events.map(({ k }) => k),
    ["note", "done"],
  );
  const child = spawn(process.execPath, ["-e", ""]);
  await once(child, "exit");
  writeFileSync(`${path}.lock`, String(child.pid));
  const third = new Recording({ to: recordingFile(path, { overwrite: true }) });
  await third.close();
  ok(!existsSync(`${path}.lock`));
});

test("a path is required, and one that does not exist cannot be replayed", async () => {
  throws(() => recordingFile(""), { code: "definition_error", message: /recordingFile needs the path of a file/ });
  await rejects(replayServer(join(tmpdir(), "no-such-file.rec.ndjson")), { code: "ENOENT" });
  await rejects(replayServer('{"not":"a recording"}'), (error) => error instanceof RecordingError && error.line === 1);
});

import { ProgressReporter, toReport } from "../call/progress-reporter.js";
import type { Call, ServerRuntime } from "../era/server-era.js";
import { PARTIAL_CONTENT_KEY } from "../protocol/meta.js";
import type { ContentBlock, ProgressToken } from "../protocol/types/index.js";

/** Who reports, of which call. */
export interface Reports {
  readonly by: object;
  readonly call: Call;
  readonly runtime: ServerRuntime;
}

const reporters = new WeakMap<object, ProgressReporter>();

/** What reports for a call; undefined where the caller asked for no reports. */
function reporterOf({ by, call, runtime }: Reports): ProgressReporter | undefined {
  const { progressToken } = call;
  if (progressToken === undefined) return undefined;
  const reporter = reporters.get(by) ?? createReporter(call, progressToken, runtime);
  reporters.set(by, reporter);
  return reporter;
}

export function reportProgress(
  reports: Reports,
  progress: number,
  total: number | undefined,
  message: string | undefined,
): void | Promise<void> {
  return reporterOf(reports)?.report(toReport(progress, total, message));
}

/** One step further than before, with a part of the result. */
export function reportPartial(
  reports: Reports,
  content: readonly ContentBlock[],
  message: string | undefined,
): void | Promise<void> {
  const reporter = reporterOf(reports);
  const _meta = { [PARTIAL_CONTENT_KEY]: content };
  return reporter?.report({ ...toReport(reporter.next, undefined, message), _meta });
}

function createReporter(call: Call, token: ProgressToken, runtime: ServerRuntime): ProgressReporter {
  const { clock } = runtime;
  const { progressIntervalMs: intervalMs } = runtime.options;
  const { method, id } = call;
  const reporter = new ProgressReporter(
    (progress) => call.notify("notifications/progress", call.era.encodeProgress(call, token, progress)),
    (error) => runtime.report(error, { where: "progress", method, id }),
    intervalMs === undefined ? undefined : { clock, intervalMs },
  );
  if (intervalMs !== undefined) call.beforeClose = () => void reporter.flush();
  return reporter;
}

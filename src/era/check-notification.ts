import { ProtocolError } from "../protocol/errors.js";
import type { RpcNotification } from "../protocol/jsonrpc/message.js";
import type { NotificationTable } from "./method-table.js";
import { noParams } from "./request-shapes.js";

/** What is wrong with a notification by the rules of an era; one that the era does not know may carry anything. */
export function notificationProblem(
  known: NotificationTable,
  { method, params }: RpcNotification,
): ProtocolError | undefined {
  const problem = (known.get(method) ?? noParams)(params);
  return problem && new ProtocolError(`${method}: ${problem.path || "/"} must be ${problem.expected}`);
}

import type { RpcNotification } from "../jsonrpc/message.js";
import { ProtocolError } from "../schema/errors.js";
import { noParams } from "./feature-shapes.js";
import type { NotificationTable } from "./method-table.js";

/** What is wrong with a notification by the rules of an era; one that the era does not know may carry anything. */
export function notificationProblem(
  known: NotificationTable,
  { method, params }: RpcNotification,
): ProtocolError | undefined {
  const problem = (known.get(method) ?? noParams)(params);
  return problem && new ProtocolError(`${method}: ${problem.path || "/"} must be ${problem.expected}`);
}

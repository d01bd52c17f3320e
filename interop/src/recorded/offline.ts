import { ChildProcess } from "node:child_process";
import { Socket } from "node:net";

/** Lets each later attempt to connect or to start a process fail, so that a replay proves to need neither. */
export function goOffline(): void {
  const refuse = (what: string) => () => {
    throw new Error(`a replay ${what}`);
  };
  Object.assign(Socket.prototype, { connect: refuse("opened a connection") });
  Object.assign(ChildProcess.prototype, { spawn: refuse("started a process") });
}

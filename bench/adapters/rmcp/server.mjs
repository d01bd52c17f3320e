import { programOf } from "../../native/build.mjs";
import { startNative } from "../native.mjs";

export const serveNative = (wire) => startNative(programOf("rust"), wire);

/** Option of the command line, with the text of its help. */
export interface OptionSpec {
  readonly type: "boolean" | "string";
  readonly multiple?: boolean;
  readonly short?: string;
  /** Name of the value in help. */
  readonly value?: string;
  readonly choices?: readonly string[];
  readonly help: string;
}

export interface OptionTable {
  readonly [name: string]: OptionSpec;
}

/** Options of all commands that use a server. */
export const SERVER_OPTIONS: OptionTable = {
  json: { type: "boolean", help: "print one JSON document" },
  era: { type: "string", choices: ["auto", "legacy", "modern"], help: "protocol era (auto)" },
  version: { type: "string", value: "date", help: "protocol version" },
  header: { type: "string", multiple: true, value: "'Name: value'", help: "HTTP header; repeatable; not stored" },
  env: { type: "string", multiple: true, value: "NAME[=value]", help: "variable for the process; repeatable" },
  cwd: { type: "string", value: "folder", help: "folder of the process" },
  config: { type: "string", value: "file", help: "configuration file, in place of all others" },
  timeout: { type: "string", value: "time", help: "silence after which to give up (60s)" },
  deadline: { type: "string", value: "time", help: "time after which to give up (1h)" },
  record: { type: "string", value: "file", help: "record the traffic, with secrets replaced" },
  overwrite: { type: "boolean", help: "replace the file of --record, or of --html" },
  log: { type: "string", value: "level", help: "print log messages of the server, from this level" },
  "no-login": { type: "boolean", help: "never let the user log in; stored logins are used" },
  memory: { type: "boolean", help: "keep the tokens of a login for this command alone" },
  quiet: { type: "boolean", short: "q", help: "nothing but the result" },
  verbose: { type: "boolean", short: "v", help: "requests with their times, and stderr of the process" },
  help: { type: "boolean", short: "h", help: "help for a command or a tool" },
};

/** Options that decide how the server is reached, and so are needed before its tools are known. */
export const BEFORE_CONNECTING = ["era", "version", "header", "env", "cwd", "config", "log", "record", "overwrite"];

/** Options of commands whose calls may ask the user. */
export const ANSWER_OPTIONS: OptionTable = {
  answer: { type: "string", multiple: true, value: "name=value", help: "answer a field of a question; repeatable" },
  answers: { type: "string", value: "file", help: "JSON array with an answer for each question, in order" },
  "accept-all": { type: "boolean", help: "accept all questions, with --answer and defaults" },
  "decline-all": { type: "boolean", help: "decline all questions" },
};

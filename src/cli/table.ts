import { ANSWER_OPTIONS, type OptionTable } from "./options.js";

/** What help, completion and docs/cli.md tell about a command. */
export interface CommandSpec {
  readonly name: string;
  readonly group: "Use a server" | "Find faults" | "Build" | "Accounts" | "Shell";
  /** One line for the list of commands. */
  readonly summary: string;
  readonly about: string;
  readonly usage: readonly string[];
  readonly examples?: readonly string[];
  /** Text between usage and options. */
  readonly notes?: readonly string[];
  readonly options: OptionTable;
  /** Names of the arguments after the server. After the first, options of a `tail` belong to the server's item. */
  readonly names: readonly string[];
  /** What the command uses: a server, a program after `--` that it does not connect to, or neither. */
  readonly server: "required" | "optional" | "program" | "none";
  readonly tail?: boolean;
  /** True if any number of arguments may follow the names. */
  readonly more?: boolean;
}

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: "list",
    group: "Use a server",
    summary: "tools, prompts and resources of a server; without a server, the configured ones",
    about: "List what a server offers. Without a server: the configured servers; none is started.",
    usage: ["bowline list [<server>] [options]"],
    examples: [
      "bowline list https://example.com/mcp",
      "bowline list --tools --schema -- node server.js",
      "bowline list",
    ],
    options: {
      tools: { type: "boolean", help: "only tools; --prompts, --resources, --templates, --skills add others" },
      prompts: { type: "boolean", help: "only prompts" },
      resources: { type: "boolean", help: "only resources" },
      templates: { type: "boolean", help: "only resource templates" },
      skills: { type: "boolean", help: "only skills" },
      schema: { type: "boolean", help: "the schemas of tools too" },
      tokens: { type: "boolean", help: "about how many tokens each tool costs a model" },
      search: { type: "string", value: "words", help: "only items with all of these words" },
      connect: { type: "boolean", help: "without a server: also start the configured ones and list their tools" },
      yes: { type: "boolean", help: "do not ask before they are started" },
    },
    names: [],
    server: "optional",
  },
  {
    name: "call",
    group: "Use a server",
    summary: "call a tool",
    about: "Call a tool.",
    usage: [
      "bowline call <server> <tool> [--parameter value]... [options]",
      "bowline call <tool> [--parameter value]... [options] -- <command>",
    ],
    examples: [
      "bowline call https://example.com/mcp moor --ship Maria --berth n1",
      "bowline call files write --path notes.txt --text @draft.md",
      `bowline call search --args '{"query":"tide"}' --json -- node server.js`,
    ],
    notes: [
      "Parameters come from the tool's schema; `bowline call <server> <tool> --help` lists them.",
      "  --name value           by type; --flag and --no-flag for booleans; repeat for arrays; --a.b for members",
      "  --name @file, @-       content of a file, of stdin; @@ for a literal @",
      "  --args <json>          all arguments as JSON, @file or -",
      "After the tool, an option that is a parameter of the tool belongs to the tool.",
    ],
    options: {
      args: { type: "string", value: "json", help: "all arguments as JSON, @file or -; parameters override members" },
      ...ANSWER_OPTIONS,
      task: { type: "boolean", help: "return the task instead of waiting" },
      retry: { type: "boolean", help: "repeat a call whose error says that this is safe" },
      out: { type: "string", value: "folder", help: "save images, audio and files" },
      "no-check": { type: "boolean", help: "send arguments that do not match the schema" },
    },
    names: ["tool"],
    server: "required",
    tail: true,
  },
  {
    name: "read",
    group: "Use a server",
    summary: "read a resource",
    about: "Read a resource. The URI may be a template, whose variables are options.",
    usage: ["bowline read <server> <uri> [--variable value]... [options]"],
    examples: ["bowline read files file:///notes.txt", "bowline read https://example.com/mcp 'note://{id}' --id 7"],
    options: {
      out: { type: "string", value: "file", help: "write the content to a file; - for bytes on stdout" },
      watch: { type: "boolean", help: "read again on each change" },
    },
    names: ["uri"],
    server: "required",
    tail: true,
  },
  {
    name: "prompt",
    group: "Use a server",
    summary: "get a prompt",
    about: "Get a prompt: the messages that a server prepared for a model.",
    usage: ["bowline prompt <server> <name> [--argument value]... [options]"],
    examples: ["bowline prompt https://example.com/mcp log-entry --ship Maria"],
    options: { text: { type: "boolean", help: "text of the messages alone, for a pipe" } },
    names: ["name"],
    server: "required",
    tail: true,
  },
  {
    name: "watch",
    group: "Use a server",
    summary: "print changes as they happen",
    about: "Print changes: of lists without a URI, else of these resources. One line for each, NDJSON with --json.",
    usage: ["bowline watch <server> [<uri>]... [options]"],
    examples: ["bowline watch files file:///notes.txt --exec 'make notes'", "bowline watch files --json --count 1"],
    options: {
      exec: { type: "string", value: "command", help: "run for each change, with MCP_KIND and MCP_URI" },
      for: { type: "string", value: "time", help: "end after a time" },
      count: { type: "string", value: "n", help: "end after n changes" },
    },
    names: [],
    server: "required",
    more: true,
  },
  {
    name: "tasks",
    group: "Use a server",
    summary: "list, follow and cancel tasks",
    about: "Show tasks: calls that outlive their request. Without an id: a list, if the server can.",
    usage: ["bowline tasks <server> [<id>] [--follow | --cancel | --result] [options]"],
    examples: ["bowline tasks https://example.com/mcp 7f3a --follow"],
    options: {
      follow: { type: "boolean", help: "print each change until the task ends, then its result" },
      result: { type: "boolean", help: "wait for the result" },
      cancel: { type: "boolean", help: "cancel the task" },
      ...ANSWER_OPTIONS,
    },
    names: ["id?"],
    server: "required",
  },
  {
    name: "skills",
    group: "Use a server",
    summary: "list, show and verify skills",
    about: "List the skills of a server, or show one by its name or URI.",
    usage: ["bowline skills <server> [<name>] [--verify] [--out <folder>] [options]"],
    examples: ["bowline skills https://example.com/mcp mooring --verify"],
    options: {
      verify: { type: "boolean", help: "read all files and compare their digests" },
      out: { type: "string", value: "folder", help: "save the verified files" },
    },
    names: ["name?"],
    server: "required",
  },
  {
    name: "doctor",
    group: "Find faults",
    summary: "check a server and name the remedies",
    about: "Check a server. Findings name the place and the remedy. No tool is called without --try.",
    usage: ["bowline doctor <server> [options]", "bowline doctor [options] -- <command>", "bowline doctor --hosts"],
    examples: [
      "bowline doctor https://example.com/mcp",
      "bowline doctor --try 'moor --ship Maria --berth n1' -- node server.js",
      "bowline doctor npm:@modelcontextprotocol/server-everything --format sarif > doctor.sarif",
    ],
    notes: [
      "Exit code 1 if there is an error. A server is examined in all protocol versions. --record keeps the traffic, and",
      "findings name its lines; -v shows them, and lists the rules that passed. docs/doctor.md explains each rule.",
    ],
    options: {
      try: {
        type: "string",
        value: "'tool --name value'",
        help: "allow calls to this tool: three, and two that are refused",
      },
      slow: { type: "boolean", help: "also wait for keep-alives (2 min)" },
      for: { type: "string", value: "hosts", help: "schemas for claude, cursor, gemini, openai, vscode; default: all" },
      only: { type: "string", value: "rules", help: "only these: ids or groups, such as stdio,era/probe" },
      skip: { type: "string", value: "rules", help: "all but these" },
      "fail-on": { type: "string", choices: ["error", "warning", "note"], help: "level for exit code 1 (error)" },
      format: { type: "string", choices: ["text", "json", "sarif", "github"], help: "form of the report (text)" },
      url: { type: "string", value: "url", help: "the command after -- serves HTTP at this URL" },
      hosts: { type: "boolean", help: "also check the files of installed applications; nothing in them is started" },
      list: { type: "boolean", help: "list the rules, and examine nothing" },
    },
    names: [],
    server: "optional",
  },
  {
    name: "record",
    group: "Find faults",
    summary: "write the traffic between an application and a server to a file",
    about: "Stand between an application and a server, and write the traffic to a file, with secrets replaced.",
    usage: [
      "bowline record <file> [options] -- <command>",
      "bowline record <file> --http <url> [options]",
      "bowline record --check <file or folder>...",
    ],
    examples: [
      "bowline record bug.rec.ndjson -- node server.js",
      "bowline record bug.rec.ndjson --http https://example.com/mcp --port 8931",
      "bowline record --check recordings/",
    ],
    notes: [
      "An application starts the first form in place of the server. Bytes, exit code and signals pass unchanged.",
      "The second form listens on 127.0.0.1, prints its URL, and ends at Ctrl-C.",
    ],
    options: {
      http: { type: "string", value: "url", help: "record an HTTP server" },
      port: { type: "string", value: "number", help: "port to listen on (any free one)" },
      overwrite: { type: "boolean", help: "replace the file" },
      redact: { type: "string", multiple: true, value: "name", help: "also replace these members; or a JSON pointer" },
      keep: { type: "string", multiple: true, value: "name", help: "keep these members although they look secret" },
      bodies: { type: "string", choices: ["auth"], help: "also record the bodies of logins, with secrets replaced" },
      max: { type: "string", value: "size", help: "end the recording, not the traffic, at a size (256MB)" },
      check: { type: "boolean", help: "report what looks secret in recordings; exit code 1 if there is any" },
    },
    names: ["file"],
    more: true,
    server: "program",
  },
  {
    name: "replay",
    group: "Find faults",
    summary: "play a recording, as the server or as the client",
    about:
      "Play a recording: as the server or, if a server is named, as its client that tells what is answered differently.",
    usage: [
      "bowline replay <file> [--listen <port>] [options]",
      "bowline replay <file> <server> [options]",
      "bowline replay <file> [options] -- <command>",
    ],
    examples: [
      "bowline replay bug.rec.ndjson --listen 8931",
      "bowline replay bug.rec.ndjson https://staging.example.com/mcp",
      "bowline replay bug.rec.ndjson --ignore /result/structuredContent/time -- node server.js",
    ],
    notes: [
      "The first form is the server: an application starts it in place of the recorded one, or reaches it at the URL that",
      "is printed. Its options are --listen, --era, --time, --order, --answers and --env. The others send the recording to",
      "a server. Exit code 1 if anything differs from the recording.",
    ],
    options: {
      listen: { type: "string", value: "port", help: "serve over HTTP on 127.0.0.1; 0 is any free port" },
      era: {
        type: "string",
        choices: ["recorded", "any"],
        help: "frames as recorded (recorded), or the calls, for a client of any protocol version",
      },
      time: { type: "string", value: "time", help: "none, recorded, or a factor such as 0.1 (none)" },
      order: {
        type: "string",
        choices: ["any", "strict"],
        help: "match requests in any order, or as recorded (any)",
      },
      answers: {
        type: "string",
        choices: ["ignore", "check"],
        help: "answers of the client to questions must be those recorded (ignore)",
      },
      ignore: { type: "string", multiple: true, value: "pointer", help: "place that may differ; repeatable" },
      shape: { type: "boolean", help: "compare the types of values, not the values" },
      update: { type: "boolean", help: "write the answers of the server into the file" },
    },
    names: ["server?"],
    server: "optional",
  },
  {
    name: "inspect",
    group: "Find faults",
    summary: "see and try everything in the browser",
    about: "See and try a server in the browser. The page is served on 127.0.0.1, and nothing is stored.",
    usage: [
      "bowline inspect <server> [options]",
      "bowline inspect <file.rec.ndjson>... [--html <file>]",
      "bowline inspect --tap [options] -- <command>",
      "bowline inspect --tap --listen <port> <url> [options]",
    ],
    examples: [
      "bowline inspect https://example.com/mcp",
      "bowline inspect --eras both -- node server.js",
      "bowline inspect before.rec.ndjson after.rec.ndjson",
    ],
    notes: [
      "Recordings open without a server. With --tap, the page shows the traffic between an application and a server: the",
      "application starts the third form in place of the server, or connects to the port of the fourth.",
      "The printed address is valid once, and for one browser. Ctrl-C ends.",
    ],
    options: {
      port: { type: "string", value: "number", help: "port of the page (any free one)" },
      "no-open": { type: "boolean", help: "print the address, do not open the browser" },
      eras: { type: "string", choices: ["both"], help: "connect in both eras from the start" },
      tap: { type: "boolean", help: "stand between an application and a server" },
      listen: { type: "string", value: "port", help: "with --tap: port for the application" },
      html: { type: "string", value: "file", help: "write recordings as one HTML file, and end" },
    },
    names: [],
    more: true,
    server: "optional",
  },
  {
    name: "types",
    group: "Build",
    summary: "TypeScript types of a server, with a lock file",
    about:
      "Write the types of a server for connect<Name>(...), and a lock file with its definitions. Or compare a server with it.",
    usage: [
      "bowline types <server> [-o <file>] [options]",
      "bowline types --config <file> [-o <file>] [options]",
      "bowline types --check [<lock>...] [options]",
    ],
    examples: [
      "bowline types https://example.com/mcp -o harbour.mcp.ts",
      "bowline types --config mcp.json -o servers.mcp.ts",
      "bowline types --check --fail-on breaking,hints",
    ],
    notes: [
      "-o harbour.mcp.ts also writes harbour.mcp.lock.json. With --config and no server, the types of all servers of the file.",
      "--check compares the locks, or all *.mcp.lock.json below this folder, with their servers. Kinds of changes:",
      "  breaking      calls or programs fail: a tool is gone, an input accepts less, an output has more forms",
      "  compatible    a tool or parameter is new, an input accepts more",
      "  text          a name, description or the instructions: what a model reads",
      "  hints         what a tool says about its effects",
    ],
    options: {
      out: { type: "string", short: "o", value: "file", help: "file of the types (stdout)" },
      name: { type: "string", value: "Name", help: "name of the type (from the server's name)" },
      check: {
        type: "boolean",
        help: "compare locks with their servers; exit code 1 if a change of --fail-on is found",
      },
      "fail-on": { type: "string", value: "kinds", help: "kinds of changes that fail (breaking,text,hints)" },
    },
    names: [],
    more: true,
    server: "optional",
  },
  {
    name: "init",
    group: "Build",
    summary: "start a project",
    about: "Start a project: a program, its test and how to run it, in at most five files. Nothing is fetched.",
    usage: ["bowline init [<folder>] [--template stdio|http|host] [--js]"],
    examples: ["bowline init weather", "bowline init weather --template http --js"],
    options: {
      template: {
        type: "string",
        choices: ["stdio", "http", "host"],
        help: "a server by stdio or HTTP, or a program that uses servers (stdio)",
      },
      js: { type: "boolean", help: "JavaScript, without a compiler" },
      json: { type: "boolean", help: "print one JSON document" },
      quiet: { type: "boolean", short: "q", help: "nothing but the result" },
    },
    names: ["folder?"],
    server: "none",
  },
  {
    name: "install",
    group: "Build",
    summary: "add a server to an application",
    about: "Add a server to the configuration of an application, or remove it. Comments and order of the file stay.",
    usage: [
      "bowline install <server> --in <host> [options]",
      "bowline install --in <host> --name <name> [options] -- <command>",
      "bowline install --remove <name> --in <host>",
    ],
    examples: [
      "bowline install https://example.com/mcp --in cursor",
      "bowline install server.ts --in claude-desktop --name notes",
      "bowline install npm:@example/server-files --in vscode --project --env FILES_KEY",
      "bowline install --remove notes --in claude-desktop",
    ],
    notes: [
      "Hosts: claude-desktop, claude-code, vscode, vscode-insiders, cursor, windsurf, gemini, codex, opencode, goose",
      "The change is shown before it is written, and the former file is kept beside it. The values of --env and --header",
      "are never written: the entry names a variable, or an input that the application asks for.",
    ],
    options: {
      in: { type: "string", value: "host", help: "the application" },
      name: { type: "string", value: "name", help: "name of the server there (made of the server)" },
      project: { type: "boolean", help: "the file of the project, in place of that of the user" },
      env: { type: "string", multiple: true, value: "NAME", help: "variable that the server gets; repeatable" },
      header: {
        type: "string",
        multiple: true,
        value: "'Name: value'",
        help: "HTTP header, whose value is a variable",
      },
      config: { type: "string", value: "file", help: "file in which the name of the server is looked up" },
      print: { type: "boolean", help: "print the entry, and write nothing" },
      yes: { type: "boolean", help: "do not ask" },
      remove: { type: "string", value: "name", help: "remove a server" },
      json: { type: "boolean", help: "print one JSON document" },
      quiet: { type: "boolean", short: "q", help: "nothing but the result" },
    },
    names: ["server?"],
    server: "program",
  },
  {
    name: "login",
    group: "Accounts",
    summary: "log in to a protected server, or list the logins",
    about: "Log in to a server by OAuth, in the browser. Other commands use the login, and renew it.",
    usage: ["bowline login <server> [options]", "bowline login --list"],
    examples: [
      "bowline login https://example.com/mcp",
      "bowline login https://example.com/mcp --no-browser",
      "bowline login https://example.com/mcp --issuer https://login.example.com --client-id my-client",
    ],
    notes: [
      "Tokens are encrypted, with a key in the keychain of the system. Without a keychain, the key is BOWLINE_SECRET,",
      "or else in a file that only you can read.",
    ],
    options: {
      "no-browser": { type: "boolean", help: "print the URL, and take the address to which the browser was sent" },
      "client-id": { type: "string", value: "id", help: "client that is registered at --issuer" },
      issuer: { type: "string", value: "url", help: "the only authorization server to trust" },
      scope: { type: "string", value: "scopes", help: "scopes to request if the server names none" },
      dpop: { type: "boolean", help: "bind the tokens to a key (DPoP)" },
      list: { type: "boolean", help: "servers with logins: issuer, scopes, expiry; never the tokens" },
    },
    names: [],
    server: "optional",
  },
  {
    name: "logout",
    group: "Accounts",
    summary: "revoke and delete the tokens of a login",
    about: "Revoke and delete the tokens of a login. What cannot be revoked is deleted nevertheless.",
    usage: ["bowline logout <server> [options]", "bowline logout --all"],
    options: { all: { type: "boolean", help: "end all logins, and remove their key" } },
    names: [],
    server: "optional",
  },
  {
    name: "completion",
    group: "Shell",
    summary: "completion script for bash, zsh or fish",
    about: "Print a completion script. It completes commands, options, servers, tools, their parameters and values.",
    usage: ["bowline completion bash|zsh|fish"],
    examples: [
      'eval "$(bowline completion bash)"        in ~/.bashrc',
      'eval "$(bowline completion zsh)"         in ~/.zshrc, after compinit',
      "bowline completion fish > ~/.config/fish/completions/bowline.fish",
    ],
    notes: [
      "Tools and parameters come from the last use of the server, which the cache folder keeps. Nothing is started.",
      "BOWLINE_CACHE=off keeps nothing.",
    ],
    options: {},
    names: ["shell"],
    server: "none",
  },
];

/** True if a command connects to a server, and so has the options of servers. */
export function usesServer({ server }: CommandSpec): boolean {
  return server === "required" || server === "optional";
}

export function commandNamed(name: string): CommandSpec | undefined {
  return COMMANDS.find((command) => command.name === name);
}

/** Forms of a server, for help and for the error about something else. */
export const SERVER_FORMS: readonly (readonly [form: string, meaning: string])[] = [
  ["https://example.com/mcp", "a URL"],
  ["server.ts, server.ts#name", "a file that serves, or exports, a server"],
  ["files, cursor:files", "a name in mcp.json or in the file of an application"],
  ["npm:package, pypi:package", "a package"],
  ["bug.rec.ndjson", "a recording, which plays the server"],
  ["-- node server.js", "a command, at the end of the line"],
];

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [0, "done"],
  [1, "a check failed: the doctor, the digest of a skill, a replay, or a lock"],
  [2, "wrong usage, invalid arguments, unknown tool, a mistake in a configuration"],
  [3, "login is required or failed"],
  [4, "not reached, not started, or lost"],
  [5, "the tool failed (`isError`)"],
  [6, "the server answered with an error, or against the protocol"],
  [7, "time limit"],
  [8, "a question needs an answer"],
  [70, "a defect of Bowline"],
  [130, "interrupted by SIGINT (Ctrl-C)"],
  [143, "interrupted by SIGTERM"],
];

import type { ConfiguredFacts } from "../facts.js";
import type { Problem, Rule } from "../rule.js";
import { list } from "./words.js";

/** Rules of the configuration files of hosts. */
export const HOSTS: readonly Rule[] = [
  {
    id: "hosts/config",
    finds: "configuration files that do not parse, name missing programs or relative paths, or contain secrets",
    remedy: `Write absolute paths, and \${NAME} in place of a secret, with the value in the environment.`,
    needs: ["hosts"],
    check: ({ hosts }) => {
      if (hosts === undefined) return undefined;
      const broken = hosts.problems.map(
        (text): Problem => ({
          level: "error",
          place: text.split(": ")[0] ?? text,
          text,
          remedy: "Correct the file; the host ignores all of it until then.",
        }),
      );
      return [...broken, ...hosts.servers.flatMap(entryProblems)];
    },
  },
];

function entryProblems({ name, file, host, missing, relative, secrets }: ConfiguredFacts): Problem[] {
  const place = `${file}: ${name}`;
  const told = (level: Problem["level"], text: string, remedy?: string): Problem => ({
    level,
    place,
    text: `${host}: the server ${JSON.stringify(name)} in ${file} ${text}`,
    ...(remedy && { remedy }),
  });
  return [
    ...(missing === undefined
      ? []
      : [
          told(
            "error",
            `names the program ${JSON.stringify(missing)}, which does not exist`,
            "Install it, or write its absolute path: a host has another PATH than your shell.",
          ),
        ]),
    ...(relative.length === 0
      ? []
      : [
          told(
            "warning",
            `has relative paths, and the folder in which the host starts is not known: ${list(relative)}`,
            "Write absolute paths.",
          ),
        ]),
    ...(secrets.length === 0 ? [] : [told("warning", `contains secrets in plain text: ${list(secrets)}`)]),
  ];
}

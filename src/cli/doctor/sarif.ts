import { docsOf } from "../../doctor/examine.js";
import type { Rule } from "../../doctor/rule.js";
import { bowlineVersion } from "../package.js";
import type { Examination } from "./examination.js";

/** Returns a report in the format SARIF 2.1.0, which code scanning reads. */
export function sarifReport({ findings, recording }: Examination, rules: readonly Rule[]): object {
  const index = new Map(rules.map(({ id }, number) => [id, number]));
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "bowline doctor",
            semanticVersion: bowlineVersion(),
            informationUri: "https://github.com/bowline/bowline",
            rules: rules.map(({ id, finds, remedy }) => ({
              id,
              shortDescription: { text: `Finds ${finds}.` },
              help: { text: remedy },
              helpUri: docsOf(id),
            })),
          },
        },
        results: findings.map(({ rule, level, place, text, remedy, requirement, evidence }) => ({
          ruleId: rule,
          ruleIndex: index.get(rule),
          level,
          message: { text: `${text}. ${remedy}` },
          locations: [
            {
              logicalLocations: [{ fullyQualifiedName: place, kind: "resource" }],
              ...(recording !== undefined && {
                physicalLocation: {
                  artifactLocation: { uri: encodeURI(recording.replaceAll("\\", "/")) },
                  region: { startLine: evidence[0]?.line ?? 1 },
                },
              }),
            },
          ],
          ...(requirement !== undefined && { properties: { requirement } }),
        })),
      },
    ],
  };
}

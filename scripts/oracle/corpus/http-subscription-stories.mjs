import { ALL_CAPABILITIES, modernPost } from "./requests.mjs";

const capabilities = ALL_CAPABILITIES;

/** Returns scripts about subscriptions of the modern era and its calls that wait. */
export function subscriptionStories() {
  const filter = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ["note://first", "none://x"],
  };
  const listen = (notifications, more) => modernPost("subscriptions/listen", { notifications }, { id: "sub", ...more });
  const acts = [
    "tools",
    "prompts",
    "resources",
    ["updated", "note://first"],
    ["updated", "none://x"],
    ["updated", "blob://one"],
    "define",
    ["disable", "add"],
    ["enable", "add"],
    ["rename", "add"],
  ].map((act) => ({ act }));
  const stories = ["plain", "options", "hooks", "modern-entry", "mode-sse", "mode-json", "limits", "bare"].flatMap(
    (kind) => [
      [
        `listen on ${kind}`,
        kind,
        [listen(filter), ...(kind === "bare" ? acts.slice(0, 4) : acts), { leave: 0 }, { act: "tools" }],
      ],
      [
        `listen and close on ${kind}`,
        kind,
        [listen(filter), listen({ toolsListChanged: true }, { id: 2 }), { act: "tools" }, { act: "close" }],
      ],
      [
        `listen for long on ${kind}`,
        kind,
        [listen(filter), { act: ["advance", 16_000] }, { act: ["advance", 20_000] }],
      ],
    ],
  );
  stories.push([
    "listen to a topic",
    "extended",
    [listen({ jobs: ["a"] }, { capabilities }), listen({ jobs: ["a"] }, { id: 2 }), { leave: 0 }],
  ]);
  stories.push([
    "modern calls that wait",
    "plain",
    [
      modernPost("tools/call", { name: "wait" }),
      modernPost("tools/call", { name: "slow" }, { id: 2 }),
      { leave: 0 },
      { act: ["advance", 1001] },
    ],
  ]);
  stories.push([
    "modern release",
    "plain",
    [
      modernPost("tools/call", { name: "wait" }, { meta: { progressToken: 1 } }),
      modernPost("tools/call", { name: "single" }, { id: 2 }),
      modernPost("tools/call", { name: "single" }, { id: 3 }),
      { act: "release" },
    ],
  ]);
  stories.push([
    "modern silence",
    "small",
    [
      modernPost("tools/call", { name: "wait" }),
      { act: ["advance", 1000] },
      { act: ["advance", 1000] },
      { act: "release" },
    ],
  ]);
  stories.push([
    "modern drain",
    "plain",
    [
      modernPost("tools/call", { name: "wait" }),
      { act: ["drain", 1000] },
      modernPost("tools/list"),
      { act: "release" },
    ],
  ]);
  stories.push([
    "modern close",
    "plain",
    [modernPost("tools/call", { name: "wait" }), { act: "close" }, modernPost("tools/list")],
  ]);
  return stories;
}

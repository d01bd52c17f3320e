import { browserStories, gateStories } from "./http-access-stories.mjs";
import { headerStories, socketStories } from "./http-header-stories.mjs";
import { limitStories } from "./http-limit-stories.mjs";
import { batchStories, oldTransportStories } from "./http-old-stories.mjs";
import { questionStories } from "./http-question-stories.mjs";
import { sessionStories } from "./http-session-stories.mjs";
import { subscriptionStories } from "./http-subscription-stories.mjs";

/**
 * Returns hand-written scripts of several requests that belong together: a name, a kind of server, steps, and a wire.
 */
export function httpStories() {
  const stories = [
    ...questionStories(),
    ...sessionStories(),
    ...subscriptionStories(),
    ...batchStories(),
    ...oldTransportStories(),
    ...gateStories(),
    ...browserStories(),
    ...limitStories(),
    ...headerStories(),
    ...socketStories(),
  ];
  return stories.map(([name, server, steps, wire = "handle"]) => ({ name: `http story ${name}`, server, wire, steps }));
}

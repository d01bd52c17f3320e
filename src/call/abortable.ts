import { tellAll } from "./abort-switch.js";

/** Who ends with a signal. One listener per signal serves them all: platforms take more than a few for a leak. */
interface Following {
  readonly followers: Set<() => void>;
  readonly onAbort: () => void;
}

const followed = new WeakMap<AbortSignal, Following>();

/** Calls the follower once when the signal fires, at once if it has, unless it is taken away before. */
export function followSignal(signal: AbortSignal, follower: () => void): void {
  if (signal.aborted) return follower();
  let following = followed.get(signal);
  if (following === undefined) {
    following = start(signal);
    followed.set(signal, following);
  }
  following.followers.add(follower);
}

export function unfollowSignal(signal: AbortSignal, follower: () => void): void {
  const following = followed.get(signal);
  if (following?.followers.delete(follower) !== true || following.followers.size > 0) return;
  followed.delete(signal);
  signal.removeEventListener("abort", following.onAbort);
}

function start(signal: AbortSignal): Following {
  const followers = new Set<() => void>();
  const onAbort = () => {
    followed.delete(signal);
    tellAll(
      [...followers].map((follower) => () => {
        if (followers.delete(follower)) follower();
      }),
      undefined,
    );
  };
  signal.addEventListener("abort", onAbort, { once: true });
  return { followers, onAbort };
}

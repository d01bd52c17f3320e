/** What ends when a signal fires. */
export interface SignalFollower {
  abort(reason: unknown): unknown;
}

interface Following {
  readonly followers: Set<SignalFollower>;
  readonly onAbort: () => void;
}

const followings = new WeakMap<AbortSignal, Following>();

/**
 * Ends the follower when the signal fires. A signal has one listener however many follow it, so that a signal shared by
 * many calls makes no runtime warn of a leak. Whoever follows a signal that may never fire stops by `unfollowSignal`.
 */
export function followSignal(signal: AbortSignal, follower: SignalFollower): void {
  if (signal.aborted) {
    follower.abort(signal.reason);
    return;
  }
  const following = followings.get(signal) ?? listenTo(signal);
  following.followers.add(follower);
}

/** Does nothing for one that does not follow, or not any more. */
export function unfollowSignal(signal: AbortSignal, follower: SignalFollower): void {
  const following = followings.get(signal);
  if (following === undefined) return;
  following.followers.delete(follower);
  if (following.followers.size > 0) return;
  followings.delete(signal);
  signal.removeEventListener("abort", following.onAbort);
}

function listenTo(signal: AbortSignal): Following {
  const followers = new Set<SignalFollower>();
  const onAbort = () => {
    followings.delete(signal);
    for (const follower of followers) follower.abort(signal.reason);
  };
  const following = { followers, onAbort };
  followings.set(signal, following);
  signal.addEventListener("abort", onAbort, { once: true });
  return following;
}

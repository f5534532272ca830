// Which requests wait behind others of their client, whose turns come seldom where they are many.
import { currentState, type RequestState } from "./request.ts";

const waiting = new WeakSet<RequestState>();

/** Notes it of the request that the running code serves, until what this returns is called. */
export function waitBehindOwn(): () => void {
  const state = currentState();
  if (state === undefined) return () => undefined;
  waiting.add(state);
  return () => void waiting.delete(state);
}

/** Whether a request of another client would have its turn earlier. */
export const isBehindOwn = (state: RequestState): boolean => waiting.has(state);

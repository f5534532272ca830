// A `fetch` whose answers never go back in time, behind any balancer: it hands back the highest block that it has seen.
//
// For any client that takes its own `fetch`: openapi-fetch, Apollo Client, urql, Relay.

/** So many services in turn without the block: a balancer has asked each of them. */
const LACKING = 5;
const RETRY_S = 1;

/** Waits while a service lacks the block. Begins anew where none has it: a reorganisation took it back. */
export function neverBack(fetchOne: typeof fetch = fetch): typeof fetch {
  let seen = 0;
  return async (input, init) => {
    const request = new Request(input, init);
    for (let heads: number[] = []; ;) {
      const asked = new Request(request.clone());
      asked.headers.set("X-Min-Block", String(seen));
      const answer = await fetchOne(asked);
      const block = Number(answer.headers.get("X-Head-Block") ?? NaN);
      if (answer.status !== 503 || !(block < seen)) {
        if (block > seen) seen = block;
        return answer;
      }
      heads = [...heads, block];
      if (heads.length === LACKING) seen = Math.max(...heads);
      const seconds = Number(answer.headers.get("Retry-After") ?? RETRY_S);
      await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
    }
  };
}

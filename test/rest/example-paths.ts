// The paths of all endpoints that have a history, with the examples of their parameters.
import type { Endpoint, Version } from "../../rest/endpoint.ts";
import { listingFormats } from "../../rest/listings/formats.ts";
import { isInPath } from "../../rest/question.ts";
import { v1 } from "../../rest/v1/v1-endpoints.ts";
import { v2 } from "../../rest/v2/v2-endpoints.ts";

export const LISTINGS = { exchangeName: "dex", usdTokens: ["DAI"] };
const VERSIONS: readonly Version[] = [v1, v2, ...listingFormats(LISTINGS)];

/** What differs from the examples of the endpoints: the market in a path, and the tokens' addresses. */
interface Examples {
  market: string;
  /** Of a block that there is. */
  block: number;
  /** By those of the examples. */
  addresses?: Readonly<Record<string, string>>;
}

const hasHistory = ({ isOfHead = false }: Endpoint): boolean => !isOfHead;

/** A further parameter may be added to each. */
export const examplePaths = ({ market, block, addresses = {} }: Examples): string[] =>
  VERSIONS.flatMap(({ name, endpoints }) =>
    endpoints.filter(hasHistory).map(({ path, query = {} }) => {
      const asked = new URLSearchParams();
      for (const [key, { example }] of Object.entries(query)) {
        if (isInPath(path, key)) continue;
        // These examples are of no block of a test's history.
        if (key === "fromId" || (path.includes("candles") && /^(from|to)$/.test(key))) continue;
        const inData = example.replace(/0x[0-9a-f]{40}/g, (known) => addresses[known] ?? known);
        asked.set(key, key.endsWith("Block") ? String(block) : inData);
      }
      const named = path.replace(":base/:quote", market).replace(":number", String(block));
      return `/${name}${named}?${asked.toString()}`;
    }),
  );

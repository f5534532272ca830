// The parameters of the event stream.
import { AS_OF } from "../params.ts";
import { FROM_ACCEPTED } from "../stream/since.ts";
import { acceptedTopics } from "../stream/topic-names.ts";

export const STREAM_PARAMETERS = [
  {
    name: "topics",
    in: "query",
    required: true,
    description:
      `Must be ${acceptedTopics()}. Symbols match in any case, and percent-encode \`/\`, \`,\`, ` +
      "`:` and `%` once more.",
    schema: { type: "string" },
    example: "head",
  },
  {
    name: "from",
    in: "query",
    required: false,
    description: `The place to go on from. Must be ${FROM_ACCEPTED}.`,
    schema: { type: "string" },
  },
  {
    name: "fromBlock",
    in: "query",
    required: false,
    description: `Instead of \`from\`, the block to begin behind: the last recorded one at or below this number. Must be ${AS_OF.block.accepted}.`,
    schema: { type: "integer", minimum: 0, maximum: 2_147_483_647 },
  },
  {
    name: "Last-Event-ID",
    in: "header",
    required: false,
    description: "The id of an event, as browsers send it; it comes before `from` and `fromBlock`.",
    schema: { type: "string" },
  },
];

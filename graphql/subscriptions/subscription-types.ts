// The fields of Subscription in SDL, from the declarations of the topics.
import type { TopicField, TopicKind } from "../../market/live/topic.ts";

const OF_EACH = `
  """
  The place in the data after this event. \`after\` takes it, also in another process of the service.
  """
  cursor: String!

  """
  The head that this event is of, or the last block of a page. Null before the first block.
  """
  head: DexMoment

  """
  What stands, if blocks that the client has were taken back: this event replaces the rest.
  """
  retractedTo: DexRetraction

  """
  Why what the client has is void, where it cannot be sent what has changed: this event is like the first of a client that begins. Null in all other events.
  """
  reset: String
`;

const MOMENTS = `
  """
  A block and its time.
  """
  type DexMoment {
    """
    Height of the block.
    """
    block: Int!

    """
    Timestamp of the block.
    """
    time: Datetime!
  }

  """
  What stands after blocks were taken back.
  """
  type DexRetraction {
    """
    The last recorded block that stands. Null if none is left.
    """
    block: Int

    """
    Its timestamp. Null if none is left.
    """
    time: Datetime

    """
    Trades with a greater id are void: blocks may have equal times.
    """
    trade: BigInt!
  }
`;

const described = (text: string, of: string): string => `
  """
  ${text}
  """
  ${of}
`;

/** `page` is how many rows an event has. */
export const subscriptionTypes = (kinds: readonly TopicKind[], page: number): string =>
  [
    MOMENTS,
    ...kinds.map(({ field }) => eventType(field, page)),
    `extend type Subscription {${kinds.map(({ field }) => subscriptionField(field)).join("")}}`,
  ].join("");

const eventType = ({ about, event, members, types = "" }: TopicField, page: number): string =>
  described(about, `type ${event} {${OF_EACH}${members?.(page) ?? ""}}`) + types;

const subscriptionField = ({ does, name, arguments: given, event }: TopicField): string =>
  described(does, `${name}${given === undefined ? "" : `(${given})`}: ${event}!`);

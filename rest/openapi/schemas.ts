// Schemas of zod as the JSON Schemas of an OpenAPI document, which in 3.1 are the same.
import { z } from "zod";

/** The schemas of one document. */
export class Schemas {
  /** Those that have an id, by it: they are told once, and referred to. */
  readonly named: Record<string, object> = {};

  /** The schema, or the reference to it, of what is given out. */
  of(schema: z.ZodType): object {
    // Within an object, so that one with an id is referred to even where it stands alone.
    const { $defs, properties } = z.toJSONSchema(z.object({ it: schema }));
    const { it = {}, ...named } = JSON.parse(
      JSON.stringify({ ...$defs, ...properties }).replaceAll('"#/$defs/', '"#/components/schemas/'),
    ) as Record<string, object>;
    Object.assign(this.named, named);
    return it;
  }
}

// Converts zod's schemas to JSON Schema, which OpenAPI 3.1 uses as it is.
import { z } from "zod";

export class Schemas {
  /** Schemas with an id, for references. */
  readonly named: Record<string, object> = {};

  /** The schema of the output, or a reference to it. */
  of(schema: z.ZodType): object {
    // As a property, a schema with an id becomes a reference.
    const { $defs, properties } = z.toJSONSchema(z.object({ it: schema }));
    const { it = {}, ...named } = JSON.parse(
      JSON.stringify({ ...$defs, ...properties }).replaceAll('"#/$defs/', '"#/components/schemas/'),
    ) as Record<string, object>;
    Object.assign(this.named, named);
    return it;
  }
}

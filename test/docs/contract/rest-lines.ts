// What a client relies on in the OpenAPI document, as a line for each parameter, status and field.

interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  prefixItems?: Schema[];
  additionalProperties?: Schema | boolean;
  propertyNames?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  [constraint: string]: unknown;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
}

interface Response {
  /** Bytes have no schema. */
  content?: Record<string, { schema?: Schema }>;
}

type Referred<Named> = Named | { $ref: string };

interface Operation {
  parameters?: Referred<Parameter>[];
  responses: Record<string, Referred<Response>>;
}

export interface RestDocument {
  paths: Record<string, { get: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Response>;
  };
}

/** A client that checks an answer or sends a value knows these too. */
const CONSTRAINTS = ["pattern", "format", "minimum", "maximum", "minLength", "default"];

const nameOf = ($ref: string): string => $ref.split("/").at(-1) ?? "";

export function restLines({ paths, components }: RestDocument): string[] {
  const parameterOf = (one: Referred<Parameter>): Parameter =>
    "$ref" in one ? components.parameters[nameOf(one.$ref)]! : one;
  return [
    ...Object.entries(paths).flatMap(([path, { get }]) => [
      `GET ${path}`,
      ...(get.parameters ?? []).map(parameterOf).map(({ name, in: place, required, schema }) => {
        const [line = ""] = schemaLines("", schema);
        return `GET ${path} ${place} ${name}${line}${required ? ", must be given" : ""}`;
      }),
      ...Object.entries(get.responses).flatMap(([status, response]) =>
        // Errors are the same everywhere, and below.
        "$ref" in response ? [] : contentLines(`GET ${path} ${status}`, response),
      ),
    ]),
    ...Object.entries(components.responses).flatMap(([name, response]) =>
      contentLines(name, response),
    ),
    ...Object.entries(components.schemas).flatMap(([name, schema]) => schemaLines(name, schema)),
  ].sort();
}

const contentLines = (at: string, { content = {} }: Response): string[] =>
  Object.entries(content).flatMap(([type, { schema }]) => schemaLines(`${at} ${type}`, schema));

/** The first is of the schema itself. */
function schemaLines(at: string, schema: Schema = {}): string[] {
  const { $ref, properties = {}, required = [], items, additionalProperties } = schema;
  if ($ref !== undefined) return [`${at}: ${nameOf($ref)}`];
  const kinds = [schema.type, "const" in schema ? schema.const : [], schema.enum]
    .flat()
    .filter((kind) => kind !== undefined)
    .map(String);
  const constraints = CONSTRAINTS.filter((name) => name in schema).map(
    (name) => `${name} ${String(schema[name])}`,
  );
  const choices = schema.oneOf ?? schema.anyOf ?? [];
  return [
    `${at}: ${[...kinds, ...constraints, ...(choices.length > 0 ? ["one of"] : [])].join(" ")}`,
    ...Object.entries(properties).flatMap(([name, member]) =>
      schemaLines(`${at}.${name}${required.includes(name) ? "" : "?"}`, member),
    ),
    ...(items ? schemaLines(`${at}[]`, items) : []),
    ...(schema.prefixItems ?? []).flatMap((item, n) => schemaLines(`${at}[${n}]`, item)),
    ...(typeof additionalProperties === "object"
      ? schemaLines(`${at}{}`, additionalProperties)
      : []),
    ...choices.flatMap((choice, n) => schemaLines(`${at}|${n}`, choice)),
  ];
}

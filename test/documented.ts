// Checks REST responses against the OpenAPI document. Every test helper that sends requests calls it.
import type { Ajv2020, ValidateFunction } from "ajv/dist/2020.js";
import AjvOf2020 from "ajv/dist/2020.js";
import { openapiDocument } from "../rest/openapi/openapi-document.ts";
import { failures } from "../rest/openapi/error-responses.ts";
import { failureName } from "../rest/openapi/references.ts";

/** A request and its response. */
export interface Exchanged {
  method: string;
  /** With its query string. */
  path: string;
  status: number;
  /** Header names are in lower case. */
  headers: Record<string, string>;
  /** The uncompressed body. */
  body: string;
}

interface Described {
  headers?: Record<string, object>;
  content?: Record<string, object>;
}

interface Document {
  paths: Record<string, { get: { responses: Record<string, object> } }>;
  components: Record<string, Record<string, object>>;
}

/** Headers of HTTP itself, and headers that the document describes once in words. */
const UNDOCUMENTED = new Set([
  ...["connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"],
  ...["content-security-policy", "x-content-type-options", "referrer-policy"],
  "cross-origin-resource-policy",
]);

/** CORS headers, on every response to OPTIONS. */
const OF_A_PREFLIGHT = /^(vary|access-control-(allow-methods|allow-headers|max-age))$/;

/** Paths outside REST, which the document leaves out. */
const NOT_REST =
  /^\/$|^\/(graphql|graphiql|ruru-static|metrics|openapi\.json|asyncapi\.json|llms\.txt|docs|files|markets|accounts|trades|state|page)(?![^/?])/;

class Documented {
  readonly #document = openapiDocument({}) as Document;
  readonly #ajv: Ajv2020;
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #templates: [RegExp, string][];

  constructor() {
    // The document is more than a schema, and its formats have patterns.
    this.#ajv = new AjvOf2020.default({ strict: false, validateFormats: false, allErrors: true });
    this.#ajv.addSchema(this.#document, "openapi.json");
    this.#templates = Object.keys(this.#document.paths).map((template) => [
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
      template,
    ]);
  }

  /** The differences between the response and the document. */
  discrepancies({ method, path, status, headers, body }: Exchanged): string[] {
    const [pathname = ""] = path.split("?", 1);
    // The document has the responses of GET, which HEAD shares, and all errors.
    if (NOT_REST.test(pathname) || (method === "OPTIONS" && status === 204)) return [];
    const place = this.#placeOf(method, pathname, status);
    if (place === undefined) return [`the status ${status} is not documented`];
    const described = this.#at(place) as Described;
    const isEmpty = method === "HEAD" || status === 304;
    return [
      ...this.#wrongHeaders(
        described,
        Object.entries(headers).filter(
          ([name]) =>
            !UNDOCUMENTED.has(name) && !(method === "OPTIONS" && OF_A_PREFLIGHT.test(name)),
        ),
      ),
      ...(isEmpty ? [] : this.#wrongBody(place, described, headers, body)),
    ].concat(isEmpty && body !== "" ? ["there is a body"] : []);
  }

  /** The path of the response in the document. */
  #placeOf(method: string, pathname: string, status: number): string[] | undefined {
    const template = this.#templates.find(([pattern]) => pattern.test(pathname))?.[1];
    const isAsked = method === "GET" || method === "HEAD";
    if (template !== undefined && isAsked) {
      const place = ["paths", template, "get", "responses", String(status)];
      const response = this.#at(place);
      if (response === undefined) return undefined;
      if (!("$ref" in response)) return place;
      return (response as { $ref: string }).$ref.split("/").slice(1);
    }
    // An unknown path or another method: only errors are documented.
    const failure = failures.find((one) => one.status === status);
    if (failure === undefined) return undefined;
    const version = /^\/(v1|udf)(?![^/])/.exec(pathname)?.[1] ?? "v2";
    return ["components", "responses", failureName(version, failure.name)];
  }

  #at(place: string[]): object | undefined {
    let found: unknown = this.#document;
    for (const key of place) found = (found as Record<string, unknown> | undefined)?.[key];
    return found as object | undefined;
  }

  #wrongHeaders({ headers: described = {} }: Described, given: [string, string][]): string[] {
    const documentedNames = new Map(
      Object.keys(described).map((name) => [name.toLowerCase(), name]),
    );
    const wrong = given.flatMap(([name, value]) => {
      const known = documentedNames.get(name);
      if (known === undefined) return [`the header ${name} is not documented`];
      const isValid: boolean = this.#validator(["components", "headers", known, "schema"])(value);
      return isValid ? [] : [`the header ${name} is ${value}`];
    });
    const missing = [...documentedNames].filter(
      ([name, known]) =>
        (this.#document.components["headers"]![known] as { required: boolean }).required &&
        given.every(([one]) => one !== name),
    );
    return [...wrong, ...missing.map(([name]) => `the header ${name} is missing`)];
  }

  #wrongBody(
    place: string[],
    { content }: Described,
    headers: Record<string, string>,
    body: string,
  ): string[] {
    if (content === undefined) return body === "" ? [] : ["there is a body"];
    const [type = "", ...others] = Object.keys(content);
    // Bytes, which no schema describes.
    if (others.length > 0) {
      const given = headers["content-type"] ?? "none";
      return [type, ...others].includes(given) ? [] : [`the type is ${given}`];
    }
    if (headers["content-type"] !== `${type}; charset=utf-8`) {
      return [`the type is ${headers["content-type"] ?? "none"}`];
    }
    const validator = this.#validator([...place, "content", type, "schema"]);
    if (validator(type === "application/json" ? JSON.parse(body) : body)) return [];
    return (validator.errors ?? []).map(
      ({ instancePath, message, params }) =>
        `${instancePath} ${message ?? ""} ${JSON.stringify(params)}`,
    );
  }

  #validator(place: string[]): ValidateFunction {
    const pointer = place
      .map((key) => encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1")))
      .join("/");
    const known = this.#validators.get(pointer);
    if (known !== undefined) return known;
    const validator = this.#ajv.compile({ $ref: `openapi.json#/${pointer}` });
    this.#validators.set(pointer, validator);
    return validator;
  }
}

let documented: Documented | undefined;

/** The differences between the response and the document. */
export function discrepanciesOf(exchanged: Exchanged): string[] {
  documented ??= new Documented();
  return documented.discrepancies(exchanged);
}

/** Throws if a REST response differs from the document. */
export function expectDocumented(exchanged: Exchanged): void {
  const discrepancies = discrepanciesOf(exchanged);
  if (discrepancies.length === 0) return;
  const { method, path, status, body } = exchanged;
  throw new Error(
    `The response to ${method} ${path} differs from the OpenAPI document:\n` +
      `${discrepancies.join("\n")}\n${status} ${body.slice(0, 1000)}`,
  );
}

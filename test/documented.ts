// Holds what the service answers over REST to its OpenAPI document: the one check that every helper
// which asks it makes of every answer.
import type { Ajv2020, ValidateFunction } from "ajv/dist/2020.js";
import AjvOf2020 from "ajv/dist/2020.js";
import { failureName, openapiDocument } from "../rest/openapi/document.ts";
import { failures } from "../rest/openapi/error-responses.ts";

/** A request, and what it was answered. */
export interface Exchanged {
  method: string;
  /** With its query string. */
  path: string;
  status: number;
  /** By their names in lower case. */
  headers: Record<string, string>;
  /** As it is without compression. */
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

/** What OpenAPI leaves to HTTP, and what the document says of all answers in words. */
const UNTOLD = new Set([
  ...["connection", "content-length", "content-type", "date", "keep-alive", "transfer-encoding"],
  ...["content-security-policy", "x-content-type-options", "referrer-policy"],
  "cross-origin-resource-policy",
]);

/** What a preflight is told, and so whatever OPTIONS is answered. */
const OF_A_PREFLIGHT = /^(vary|access-control-(allow-methods|allow-headers|max-age))$/;

/** The paths that are no REST: the document leaves them out. */
const OTHERS = /^\/(graphql|graphiql|ruru-static|metrics|openapi\.json|docs)(?![^/?])/;

class Documented {
  readonly #document = openapiDocument({}) as Document;
  readonly #ajv: Ajv2020;
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #templates: [RegExp, string][];

  constructor() {
    // It is not all a schema, and formats have their patterns.
    this.#ajv = new AjvOf2020.default({ strict: false, validateFormats: false, allErrors: true });
    this.#ajv.addSchema(this.#document, "openapi.json");
    this.#templates = Object.keys(this.#document.paths).map((template) => [
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
      template,
    ]);
  }

  /** What of this answer is not as the document has it; none where all is. */
  discrepancies({ method, path, status, headers, body }: Exchanged): string[] {
    const [pathname = ""] = path.split("?", 1);
    // GET's answers are told, which HEAD's follow from, and all failures.
    if (OTHERS.test(pathname) || (method === "OPTIONS" && status === 204)) return [];
    const place = this.#placeOf(method, pathname, status);
    if (place === undefined) return [`there is no status ${status}`];
    const described = this.#at(place) as Described;
    const isEmpty = method === "HEAD" || status === 304;
    return [
      ...this.#wrongHeaders(
        described,
        Object.entries(headers).filter(
          ([name]) => !UNTOLD.has(name) && !(method === "OPTIONS" && OF_A_PREFLIGHT.test(name)),
        ),
      ),
      ...(isEmpty ? [] : this.#wrongBody(place, described, headers, body)),
    ].concat(isEmpty && body !== "" ? ["there is a body"] : []);
  }

  /** The keys that lead to the response in the document. */
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
    // Nothing is there, or not for this method: only failures can be told.
    const failure = failures.find((one) => one.status === status);
    if (failure === undefined) return undefined;
    const version = /^\/v1(?![^/])/.test(pathname) ? "v1" : "v2";
    return ["components", "responses", failureName(version, failure.name)];
  }

  #at(place: string[]): object | undefined {
    let found: unknown = this.#document;
    for (const key of place) found = (found as Record<string, unknown> | undefined)?.[key];
    return found as object | undefined;
  }

  #wrongHeaders({ headers: described = {} }: Described, given: [string, string][]): string[] {
    const told = new Map(Object.keys(described).map((name) => [name.toLowerCase(), name]));
    const wrong = given.flatMap(([name, value]) => {
      const known = told.get(name);
      if (known === undefined) return [`the header ${name} is not told`];
      const isValid: boolean = this.#validator(["components", "headers", known, "schema"])(value);
      return isValid ? [] : [`the header ${name} is ${value}`];
    });
    const missing = [...told].filter(
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
    if (headers["content-type"] !== "application/json; charset=utf-8") {
      return [`the type is ${headers["content-type"] ?? "none"}`];
    }
    const validator = this.#validator([...place, "content", "application/json", "schema"]);
    if (validator(JSON.parse(body))) return [];
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

/** What of this answer is not as the document has it; none where all is. */
export function discrepanciesOf(exchanged: Exchanged): string[] {
  documented ??= new Documented();
  return documented.discrepancies(exchanged);
}

/** Throws where an answer over REST is not as the document has it. */
export function expectDocumented(exchanged: Exchanged): void {
  const discrepancies = discrepanciesOf(exchanged);
  if (discrepancies.length === 0) return;
  const { method, path, status, body } = exchanged;
  throw new Error(
    `${method} ${path} is answered otherwise than the OpenAPI document says:\n` +
      `${discrepancies.join("\n")}\n${status} ${body.slice(0, 1000)}`,
  );
}

// Persisted documents: a folder that is read at the start. Clients name one by its identifier, and register none.
//
// @grafserv/persisted would answer POST alone, take any file name for an identifier without looking at the text, and
// print each request that it refuses, variables included.
import { parse, specifiedRules, validate, type GraphQLSchema } from "graphql";
import { hash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { documentProblem } from "../limits/document-problem.ts";
import type { GraphqlLimits } from "../limits/limits.ts";
import { addRules } from "../schema/validation-rules.ts";
import { NotPersisted, UnknownDocument } from "./persisted-errors.ts";

const DOCUMENT_FILE = /\.(?:graphql|gql)$/;

/** By the appendix of GraphQL over HTTP: of the UTF-8 text, byte by byte. */
export const identifierOf = (text: string): string => `sha256:${hash("sha256", text, "hex")}`;

/** What a request says about its document. */
interface Asked {
  query?: string | undefined;
  documentId?: string | null | undefined;
}

export class PersistedDocuments {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #isOnly: boolean;
  readonly #named: readonly { text: string; file: string }[];

  /** With `only`, no other document is run. The texts are of these files, one after the other. */
  constructor(texts: Iterable<string>, only = false, files: readonly string[] = []) {
    this.#named = Array.from(texts, (text, n) => ({ text, file: files[n] ?? identifierOf(text) }));
    this.#texts = new Map(this.#named.map(({ text }) => [identifierOf(text), text]));
    this.#isOnly = only;
  }

  get size(): number {
    return this.#texts.size;
  }

  has(identifier: string): boolean {
    return this.#texts.has(identifier);
  }

  /** A line for each file whose document every request would be refused for. Requests are served between them. */
  async *problems(schema: GraphQLSchema, limits: GraphqlLimits): AsyncGenerator<string> {
    for (const { text, file } of this.#named) {
      await setImmediate();
      const error = documentError(text, schema, limits);
      if (error !== undefined) yield `PERSISTED_DIR: ${file} is refused: ${error.message}`;
    }
  }

  /** The text of the document that is asked for. A text that is given counts, whatever identifier is beside it. */
  textOf({ query, documentId }: Asked): string {
    if (query !== undefined) {
      if (this.#isOnly && !this.#texts.has(identifierOf(query))) throw new NotPersisted();
      return query;
    }
    const text = this.#texts.get(documentId ?? "");
    if (text === undefined) throw new UnknownDocument();
    return text;
  }
}

function documentError(text: string, schema: GraphQLSchema, limits: GraphqlLimits) {
  const rules = [...specifiedRules];
  addRules(rules);
  try {
    return documentProblem(text, limits) ?? validate(schema, parse(text), rules)[0];
  } catch (error) {
    // A rule may throw.
    return error as Error;
  }
}

/** Of a service that has none: it takes any text. */
export const NO_DOCUMENTS = new PersistedDocuments([]);

/** Throws an error that names the file and what is wrong with it. */
export async function readDocuments(
  folder: string,
  { only, maxBytes }: { only: boolean; maxBytes: number },
): Promise<PersistedDocuments> {
  const refuse = (problem: string): never => {
    throw new Error(`PERSISTED_DIR: ${problem}`);
  };
  const names = await readdir(folder).catch((error: unknown) =>
    refuse(`${folder} cannot be read: ${(error as Error).message}`),
  );
  const files = names.filter((name) => DOCUMENT_FILE.test(name)).sort();
  if (files.length === 0) refuse(`${folder} has no file that ends in .graphql or .gql`);
  const texts: string[] = [];
  for (const name of files) {
    const file = join(folder, name);
    const unread = (error: unknown) =>
      refuse(`${file} cannot be read: ${(error as Error).message}`);
    const kind = await stat(file).catch(unread);
    // To read a pipe or a device may take for ever.
    if (!kind.isFile()) refuse(`${file} is no file`);
    const bytes = await readFile(file).catch(unread);
    if (bytes.length > maxBytes) refuse(`${file} is longer than MAX_BODY_BYTES, ${maxBytes}`);
    const text = bytes.toString();
    // The identifier of another text would be that of no file.
    if (!Buffer.from(text).equals(bytes)) refuse(`${file} is not UTF-8`);
    try {
      parse(text);
    } catch (error) {
      refuse(`${file} is no GraphQL document: ${(error as Error).message}`);
    }
    texts.push(text);
  }
  return new PersistedDocuments(
    texts,
    only,
    files.map((name) => join(folder, name)),
  );
}

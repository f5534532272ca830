// The files of each day, as OpenAPI describes them.
import type { z } from "zod";
import { manifestSchema } from "../../db/export/manifest.ts";
import { v2Envelope } from "../../http/envelope.ts";
import { FILE_TYPES } from "../files/files-router.ts";
import { OF_ANY_ORIGIN, OF_THE_LIMIT, OF_THE_REQUEST, type HeaderName } from "./headers.ts";
import { failureRefs, refs } from "./references.ts";

const OF_A_FILE: HeaderName[] = [
  ...(["Cache-Control", "ETag"] as const),
  ...OF_THE_REQUEST,
  ...OF_THE_LIMIT,
  ...OF_ANY_ORIGIN,
];

const NAME = {
  name: "name",
  in: "path",
  required: true,
  description: "The name of a file, as the manifest has it.",
  schema: { type: "string" },
  example: "trades-2026-01-30.parquet",
};

const header = (name: string, description: string, example: string): object => ({
  name,
  in: "header",
  required: false,
  description,
  schema: { type: "string" },
  example,
});

const BYTES = Object.fromEntries(Object.values(FILE_TYPES).map((type) => [type, {}]));

/** By path. */
export function fileOperations(schemaOf: (schema: z.ZodType) => object): Record<string, object> {
  const manifest = (operationId: string, description: string): object => ({
    get: {
      operationId,
      tags: ["v2"],
      summary: "The manifest of the files of each day",
      description,
      responses: {
        200: {
          description: "The manifest, without an envelope.",
          headers: refs("headers", [...OF_A_FILE, "Vary", "Content-Encoding"]),
          content: { "application/json": { schema: schemaOf(manifestSchema) } },
        },
        304: {
          description: "The client has it: `If-None-Match` gives its tag.",
          headers: refs("headers", [...OF_A_FILE, "Vary"]),
        },
        ...failureRefs("v2", () => true),
      },
    },
  });
  return {
    "/v2/files": manifest("v2Files", "The same as `/v2/files/manifest.json`."),
    "/v2/files/manifest.json": manifest(
      "v2FilesManifest",
      "Every day that is final, with the rows, bytes and SHA-256 of each file, and the digest of all facts up to the " +
        "day's end. 404 where the service exports no files.",
    ),
    "/v2/files/{name}": {
      get: {
        operationId: "v2File",
        tags: ["v2"],
        summary: "A file of a day",
        description:
          "One that the manifest lists. It never changes under its name. Its tag is its SHA-256. HEAD returns the headers.",
        parameters: [
          NAME,
          header(
            "Range",
            "One range of bytes; with several, the whole file is the answer.",
            "bytes=0-1023",
          ),
          header(
            "If-Range",
            "A tag: with another one, the whole file is the answer.",
            '"5891b5b5"',
          ),
        ],
        responses: {
          200: {
            description: "The file.",
            headers: refs("headers", [...OF_A_FILE, "Accept-Ranges"]),
            content: BYTES,
          },
          206: {
            description: "The bytes of `Range`.",
            headers: refs("headers", [...OF_A_FILE, "Accept-Ranges", "Content-Range"]),
            content: BYTES,
          },
          304: {
            description: "The client has it: `If-None-Match` gives its tag.",
            headers: refs("headers", [...OF_A_FILE, "Accept-Ranges"]),
          },
          416: {
            description: "The range begins behind the end of the file.",
            headers: refs("headers", [
              ...(["Cache-Control", "Content-Range"] as const),
              ...OF_THE_REQUEST,
              ...OF_THE_LIMIT,
              ...OF_ANY_ORIGIN,
            ]),
            content: { "application/json": { schema: schemaOf(v2Envelope.failureSchema) } },
          },
          ...failureRefs("v2", () => true),
        },
      },
    },
  };
}

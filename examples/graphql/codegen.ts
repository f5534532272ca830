// Generates the types of each example's queries from a running service, by graphql-codegen.
//
// Every custom scalar is a string: an amount is never parsed into a float unawares. A scalar that is
// not named here is an error, and no type is `any`.
import type { CodegenConfig } from "@graphql-codegen/cli";

const config: CodegenConfig = {
  schema: process.env["GRAPHQL_URL"] ?? "http://localhost:3000/graphql",
  generates: {
    // All there is to ask for, and what comes back.
    "schema.generated.ts": { plugins: ["typescript"] },
    // Each example's queries: what they take, and what they give.
    ...Object.fromEntries(
      ["apollo", "urql"].map((client) => [
        `${client}/trades.generated.ts`,
        {
          documents: `${client}/*.graphql`,
          plugins: ["typescript-operations", "typed-document-node"],
        },
      ]),
    ),
  },
  config: {
    scalars: {
      BigFloat: "string",
      BigInt: "string",
      Cursor: "string",
      Datetime: "string",
    },
    strictScalars: true,
    defaultScalarType: "unknown",
    enumsAsTypes: true,
    useTypeImports: true,
  },
};

// graphql-codegen finds its configuration by the default export.
export default config;

// What Prettier does not settle.
import js from "@eslint/js";
import prettier from "eslint-config-prettier";
import { createNodeResolver, importX } from "eslint-plugin-import-x";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

// Imports go one way: server → traces → rest, graphql, page, chain → http, market → db.
const ORDER = [
  ["server"],
  ["traces"],
  ["rest", "graphql", "page", "chain"],
  ["http"],
  ["market"],
  ["db"],
];
const PARTS = ORDER.flat();

// A part imports itself and what is behind it; parts of one place do not import each other.
const ONE_WAY = ORDER.flatMap((parts, place) =>
  parts
    .map((part) => ({
      target: `./${part}`,
      from: ORDER.slice(0, place + 1)
        .flat()
        .filter((other) => other !== part)
        .map((other) => `./${other}`),
    }))
    .filter(({ from }) => from.length > 0),
);

// A package knows nothing of the project, and only what speaks GraphQL imports it.
const PACKAGES = [
  { target: "./packages", from: [...PARTS, "test"].map((part) => `./${part}`) },
  ...PARTS.filter((part) => part !== "server" && part !== "graphql").map((part) => ({
    target: `./${part}`,
    from: "./packages",
  })),
];

export default defineConfig([
  globalIgnores([
    ...["node_modules/", "coverage/", ".data*/", ".bench/", "rest/openapi/market-data.d.ts"],
    // Checked as its users would: by itself, with separate packages.
    "examples/graphql/",
    "examples/mcp/",
    "test/clients/generators/",
  ]),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        projectService: { allowDefaultProject: ["*.config.js"] },
        tsconfigRootDir: import.meta.dirname,
      },
    },
    plugins: { "import-x": importX },
    settings: { "import-x/resolver-next": [createNodeResolver({ extensions: [".ts", ".js"] })] },
    rules: {
      "import-x/no-restricted-paths": [
        "error",
        { basePath: import.meta.dirname, zones: [...ONE_WAY, ...PACKAGES] },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_" }],
      // The extension points of PostGraphile's types are namespaces.
      "@typescript-eslint/no-namespace": ["error", { allowDeclarations: true }],
      // `process.env["NAME"]` is what noPropertyAccessFromIndexSignature would ask for.
      "@typescript-eslint/dot-notation": "off",
      "no-restricted-imports": [
        "error",
        {
          paths: [
            {
              name: "pg",
              message: "Only db/connect.ts imports pg, and db/connection-types.ts its types.",
            },
          ],
        },
      ],
      "no-restricted-exports": ["error", { restrictDefaultExports: { direct: true } }],
    },
  },
  {
    files: ["db/connect.ts", "db/connection-types.ts", "packages/*/test/*.ts"],
    rules: { "no-restricted-imports": "off" },
  },
  {
    // Jest and the linters find what they configure by the default export.
    files: [
      "*.config.js",
      "test/cluster-*.ts",
      "test/jest/*.ts",
      "test/faults/*-counts.ts",
      "test/cluster/publish-*.ts",
    ],
    rules: { "no-restricted-exports": "off" },
  },
  { files: ["**/*.js"], extends: [tseslint.configs.disableTypeChecked] },
  // tsc knows a browser's globals.
  { files: ["page/client/*.js"], rules: { "no-undef": "off" } },
  {
    files: ["test/**/*.ts", "packages/*/test/*.ts"],
    rules: {
      // A test reads what came over the wire.
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },
  prettier,
]);

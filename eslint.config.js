// What Prettier does not settle.
import js from "@eslint/js";
import prettier from "eslint-config-prettier";
import { createNodeResolver, importX } from "eslint-plugin-import-x";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

// Imports go one way: main and compose → page, graphql, chain; page → rest; all of them → http → db. The commands of
// db/ put together what they need, as main does.
const ONE_WAY = [
  { target: "./db", from: ["./server", "./rest"] },
  { target: "./server/http", from: "./server", except: ["./http"] },
  { target: "./server/graphql", from: "./server", except: ["./graphql", "./http"] },
  { target: ["./server/http", "./server/graphql"], from: "./rest" },
  { target: "./rest", from: "./server", except: ["./http"] },
  { target: "./server/page", from: "./server", except: ["./page", "./http"] },
  {
    target: ["./db", "./server/http", "./server/graphql", "./server/page", "./rest"],
    from: "./chain",
  },
  { target: "./chain", from: "./server", except: ["./http"] },
  { target: "./chain", from: "./rest" },
];

export default defineConfig([
  globalIgnores([
    ...["node_modules/", "coverage/", ".data*/", ".bench/", "examples/*/*.d.ts"],
    // Checked as its users would: by itself, with packages of its own.
    "examples/graphql/",
    "bench/chain/ponder/",
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
      "import-x/no-restricted-paths": ["error", { basePath: import.meta.dirname, zones: ONE_WAY }],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_" }],
      // `process.env["NAME"]` is what noPropertyAccessFromIndexSignature would ask for.
      "@typescript-eslint/dot-notation": "off",
      "no-restricted-imports": [
        "error",
        { paths: [{ name: "pg", message: "Only db/connect.ts imports pg." }] },
      ],
      "no-restricted-exports": ["error", { restrictDefaultExports: { direct: true } }],
    },
  },
  { files: ["db/connect.ts"], rules: { "no-restricted-imports": "off" } },
  { files: ["db/commands/*.ts"], rules: { "import-x/no-restricted-paths": "off" } },
  {
    // Jest and the linters find what they configure by the default export.
    files: [
      "*.config.js",
      "test/cluster-*.ts",
      "test/faults/*-counts.ts",
      "test/cluster/publish-*.ts",
    ],
    rules: { "no-restricted-exports": "off" },
  },
  { files: ["**/*.js"], extends: [tseslint.configs.disableTypeChecked] },
  // tsc knows a browser's globals.
  { files: ["server/page/client/*.js"], rules: { "no-undef": "off" } },
  {
    files: ["test/**/*.ts"],
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

// What Prettier does not settle.
import js from "@eslint/js";
import prettier from "eslint-config-prettier";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig([
  globalIgnores([
    ...["node_modules/", "coverage/", ".data/", ".bench/", "examples/*/*.d.ts"],
    // Checked as its users would: by itself, with packages of its own.
    "examples/graphql/",
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
    rules: {
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
  {
    // Jest and the linters find what they configure by the default export.
    files: ["*.config.js", "test/cluster-*.ts", "test/faults/*-counts.ts"],
    rules: { "no-restricted-exports": "off" },
  },
  { files: ["**/*.js"], extends: [tseslint.configs.disableTypeChecked] },
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

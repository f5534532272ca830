// Formats a text as `npm run format` does. Prettier's main file loads its parsers by `import()`, which Jest lacks.
import type { Plugin } from "prettier";
import * as babel from "prettier/plugins/babel";
import * as estree from "prettier/plugins/estree";
import * as markdown from "prettier/plugins/markdown";
import { format } from "prettier/standalone";

const plugins = [babel, estree as Plugin, markdown];

export const formatted = (text: string, parser: "json" | "markdown"): Promise<string> =>
  format(text, { parser, plugins, printWidth: 100 });

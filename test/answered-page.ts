// Runs each command and query in a Markdown page, and replaces the output below it.
import { formatted } from "./formatted.ts";

/** Runs the code blocks of a page. */
export interface Blocks {
  /** Returns the output of a command after `$`. */
  run: (command: string) => Promise<string>;
  /** Returns the response body of a GraphQL query; `onPage` is the response on the page. */
  ask: (query: string, onPage: string) => Promise<unknown>;
  /** Runs a block of shell commands; without it, these blocks are not run. */
  shell?: (commands: string) => Promise<void>;
  /** Runs a block of SQL; without it, these blocks are not run. */
  sql?: (text: string) => Promise<void>;
}

/** Ends a response that is truncated on the page. */
const MORE = " …";
const MAX_LENGTH = 340;

const BLOCKS =
  /```console\n(?<commands>[\s\S]*?)\n```|```sh\n(?<shell>[\s\S]*?)\n```|```sql\n(?<sql>[\s\S]*?)\n```|```graphql\n(?<query>[\s\S]*?)\n```\n\n```json\n(?<json>[\s\S]*?)\n```/g;

/** Returns the page with the present outputs. */
export async function answeredPage(text: string, blocks: Blocks): Promise<string> {
  let written = "";
  let end = 0;
  for (const match of text.matchAll(BLOCKS)) {
    written += text.slice(end, match.index) + (await answeredBlock(match, blocks));
    end = match.index + match[0].length;
  }
  return written + text.slice(end);
}

async function answeredBlock(match: RegExpExecArray, blocks: Blocks): Promise<string> {
  const { commands, shell, sql, query, json } = match.groups!;
  if (commands !== undefined) {
    return `\`\`\`console\n${await answeredCommands(commands, blocks)}\n\`\`\``;
  }
  if (query !== undefined) {
    const answer = JSON.stringify(await blocks.ask(query, json ?? ""));
    const printed = await formatted(answer, "json");
    return `\`\`\`graphql\n${query}\n\`\`\`\n\n\`\`\`json\n${printed.trim()}\n\`\`\``;
  }
  if (shell !== undefined) await blocks.shell?.(shell);
  if (sql !== undefined) await blocks.sql?.(sql);
  return match[0];
}

async function answeredCommands(block: string, { run }: Blocks): Promise<string> {
  const lines: string[] = [];
  for (const line of block.split("\n").filter((text) => text.startsWith("$ "))) {
    lines.push(line, printed(await run(line.slice(2))));
  }
  return lines.join("\n");
}

/** Truncates a long response after a record. */
function printed(answer: string): string {
  if (answer.length <= MAX_LENGTH || answer.includes("\n")) return answer;
  const end = answer.indexOf("},", MAX_LENGTH / 2);
  return `${answer.slice(0, end + 2)}${MORE}`;
}

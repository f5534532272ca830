// Runs what stands on a page: each command and query in it, and writes below them what they answer.
import prettier from "prettier";

/** How the blocks of a page are carried out. */
export interface Blocks {
  /** What a command behind a `$` prints, as the page has it. */
  run: (command: string) => Promise<string>;
  /** The body of the answer to a GraphQL query; `onPage` is what the page says of it. */
  ask: (query: string, onPage: string) => Promise<unknown>;
  /** Carries out a block of commands that answer nothing; without it, they are for reading only. */
  shell?: (commands: string) => Promise<void>;
  /** Carries out a block of SQL; without it, it is for reading only. */
  sql?: (text: string) => Promise<void>;
}

/** Longer answers are cut on the page, and end in this. */
const MORE = " …";
const LONGEST = 340;

const BLOCKS =
  /```console\n(?<commands>[\s\S]*?)\n```|```sh\n(?<shell>[\s\S]*?)\n```|```sql\n(?<sql>[\s\S]*?)\n```|```graphql\n(?<query>[\s\S]*?)\n```\n\n```json\n(?<json>[\s\S]*?)\n```/g;

/** The page with every answer as it is given now. */
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
    const printed = await prettier.format(answer, { parser: "json", printWidth: 100 });
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

/** The answer as the page prints it: cut behind a record, where it is long. */
function printed(answer: string): string {
  if (answer.length <= LONGEST || answer.includes("\n")) return answer;
  const end = answer.indexOf("},", LONGEST / 2);
  return `${answer.slice(0, end + 2)}${MORE}`;
}

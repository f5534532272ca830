// Why no shadow can be made, for whoever may not make one.
import { shownUrl } from "./shown-url.ts";

/** The error with what to do, where it is the server's refusal to make a database; else as it is. */
export function shadowRefused(error: unknown, root: string): unknown {
  const { message, code } = error as { message: string; code?: string };
  if (code !== "42501" && !message.includes("permission denied to create database")) return error;
  return new Error(
    `${message}. It is made by ${shownUrl(root)}. Give SHADOW_DATABASE_URL and ROOT_DATABASE_URL of a ` +
      `login that may, or: alter role ${decodeURIComponent(new URL(root).username)} createdb;`,
    { cause: error },
  );
}

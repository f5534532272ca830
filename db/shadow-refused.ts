// Explains a missing right to create the shadow database.
import { shownUrl } from "./shown-url.ts";

/** If the error is a missing right to create databases, adds instructions; returns other errors unchanged. */
export function shadowRefused(error: unknown, root: string): unknown {
  const { message, code } = error as { message: string; code?: string };
  if (code !== "42501" && !message.includes("permission denied to create database")) return error;
  return new Error(
    `${message}. The shadow database is created with ${shownUrl(root)}. Set SHADOW_DATABASE_URL and ` +
      "ROOT_DATABASE_URL to a login that may create databases, or run: " +
      `alter role ${decodeURIComponent(new URL(root).username)} createdb;`,
    { cause: error },
  );
}

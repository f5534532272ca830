// A reading of the topics that records the texts of its statements.
import type { Database } from "../../../db/connect.ts";
import { readingOf } from "../../../market/live/reading.ts";

export async function recordedReading(reader: Database) {
  const sent: string[] = [];
  const recording = {
    query: (statement: { text: string }) => {
      sent.push(statement.text);
      return reader.query(statement);
    },
  } as unknown as Database;
  return { sent, reading: await readingOf(recording) };
}

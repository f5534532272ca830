// The answer to a request at random, also the one that Node's client does not take.
import { exchange, type Asked, type Means } from "../exchange-http.ts";

/** A refusal with a body, after which the connection is closed. */
const LAST_REFUSAL =
  /^HTTP\/1\.1 (?<status>400|408) .*\r\n(?:.+\r\n)*?Connection: close\r\n(?:.+\r\n)*\r\n(?<text>.+)$/s;

/**
 * The status, and the body. On a machine that has no time the service gives up on a HEAD before it has
 * read that it is one, and the refusal has a body: Node's client takes this for bytes that belong to
 * nothing.
 */
export async function answerTo(
  url: string,
  asked: Asked,
  means: Means,
): Promise<{ status: number; text: string }> {
  try {
    const { status, body } = await exchange(url, asked, means);
    return { status, text: body.toString("utf8") };
  } catch (error) {
    const { rawPacket } = error as { rawPacket?: Buffer };
    const refusal = LAST_REFUSAL.exec(rawPacket?.toString("utf8") ?? "")?.groups;
    if (asked.method !== "HEAD" || refusal === undefined) throw error;
    return { status: Number(refusal["status"]), text: refusal["text"] ?? "" };
  }
}

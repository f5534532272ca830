// The content security policy of an HTML page.
import { createHash } from "node:crypto";

const SCRIPT_IN_PAGE = /<script(?: type="module")?>(.*?)<\/script>/gs;

/** Allows the page's own files and, by hash, its inline scripts; and requests to this service alone. */
export function policyOf(html: string): string {
  const hashes = [...html.matchAll(SCRIPT_IN_PAGE)].map(
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(" ")}`,
    // GraphiQL's editor and Swagger UI write styles into the page as they go.
    "style-src 'self' 'unsafe-inline'",
    "font-src 'self' data:",
    "img-src 'self' data:",
    "worker-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

// The content security policy of GraphiQL's page: what it brings, and nothing from anywhere else.
import { createHash } from "node:crypto";
// Says what a request of Express has in its context.
import type {} from "postgraphile/grafserv/express/v4";

const SCRIPT_IN_PAGE = /<script(?: type="module")?>(.*?)<\/script>/gs;

/**
 * Lets the page run its own files and the scripts written into it, each by its hash, so that
 * nothing else that might get into it would run; and ask this service alone.
 */
function policyOf(html: string): string {
  const hashes = [...html.matchAll(SCRIPT_IN_PAGE)].map(
    ([, script = ""]) => `'sha256-${createHash("sha256").update(script).digest("base64")}'`,
  );
  return [
    "default-src 'none'",
    `script-src 'self' ${hashes.join(" ")}`,
    // The editor writes styles into the page as it goes.
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

export const PagePolicyPlugin: GraphileConfig.Plugin = {
  name: "PagePolicyPlugin",
  description:
    "Gives GraphiQL's page its content security policy, and lets it need nothing that is not there.",
  grafserv: {
    middleware: {
      async ruruHTML(next, event) {
        // Without one, the browser asks for an icon that nobody has.
        event.htmlParts.metaTags += '<link rel="icon" href="data:,">';
        const html = await next();
        event.request.requestContext.expressv4?.res.setHeader(
          "Content-Security-Policy",
          policyOf(html),
        );
        return html;
      },
    },
  },
};

// Gives GraphiQL's page its content security policy.
import { policyOf } from "../http/content-security-policy.ts";
// Says what a request of Express has in its context.
import type {} from "postgraphile/grafserv/express/v4";

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

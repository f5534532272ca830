// Sets the content security policy of the GraphiQL page.
import { policyOf } from "../http/content-security-policy.ts";
// Declares the Express request in grafserv's request context.
import type {} from "postgraphile/grafserv/express/v4";

export const PagePolicyPlugin: GraphileConfig.Plugin = {
  name: "PagePolicyPlugin",
  description: "Sets the content security policy of the GraphiQL page.",
  grafserv: {
    middleware: {
      async ruruHTML(next, event) {
        // Without this the browser requests /favicon.ico, which does not exist.
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

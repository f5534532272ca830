// What every answer tells a browser: read this as what it says it is, and do nothing else with it.
import helmet from "helmet";

/**
 * Those of helmet's headers that mean something for answers of JSON. They are set in Express, so that
 * an answer from memory has them at no cost. GraphiQL's page gets a policy of its own in
 * graphql/page-policy.ts.
 */
export const securityHeaders = helmet({
  // Opened as a page, an answer loads nothing, and no page shows it in a frame.
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  // Any page may read what is published.
  crossOriginResourcePolicy: { policy: "cross-origin" },
  // Whoever puts TLS in front knows whether the whole host has it.
  strictTransportSecurity: false,
  // frame-ancestors says the same.
  xFrameOptions: false,
  // The app never sets it.
  xPoweredBy: false,
  // These are about pages, or about browsers that are gone.
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

// How to ask for what a panel shows: the curl command and the GraphQL query.
import { html } from "./html.js";
import { asOfBlock, queryAsOfBlock } from "./past.js";

/** @param {string} text */
const inShell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** @param {string} query */
const inGraphql = (query) => html`
  <p>GraphQL (<a href=${`/graphiql?query=${encodeURIComponent(query)}`}>open in GraphiQL</a>):</p>
  <pre tabindex="0"><code>${query}</code></pre>
`;

/**
 * As of the block of the page.
 * @param {{ path: string, query?: string, streams?: boolean }} asked
 */
export const asking = ({ path, query, streams = false }) => html`
  <details class="asking">
    <summary>How to ask for this</summary>
    <p>REST:</p>
    <pre
      tabindex="0"
    ><code>curl ${streams ? "-N " : ""}${inShell(location.origin + asOfBlock(path))}</code></pre>
    ${query !== undefined && inGraphql(queryAsOfBlock(query))}
  </details>
`;

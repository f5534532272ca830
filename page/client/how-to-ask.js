// How to ask for what a page shows: the curl command and the GraphQL query of each part, in one drawer.
import { html } from "./html.js";
import { asOfBlock, atBlock, queryAsOfBlock } from "./past.js";

/** @typedef {{ title: string, path?: string, query?: string, streams?: boolean }} Question */

/** @param {string} text */
const inShell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** @param {string} query */
const inGraphql = (query) => html`
  <p>GraphQL (<a href=${`/graphiql?query=${encodeURIComponent(query)}`}>open in GraphiQL</a>):</p>
  <pre tabindex="0"><code>${query}</code></pre>
`;

/** @param {string} path @param {boolean} streams */
const inRest = (path, streams) => html`
  <p>REST:</p>
  <pre
    tabindex="0"
  ><code>curl ${streams ? "-N " : ""}${inShell(location.origin + asOfBlock(path))}</code></pre>
`;

/**
 * As of the block of the page.
 * @param {readonly Question[]} questions
 */
export const asking = (questions) => html`
  <details class="asking">
    <summary>How to ask for this</summary>
    ${questions.map(
      ({ title, path, query, streams = false }) =>
        html`<h2 key=${title}>${title}${atBlock()}</h2>
          ${path !== undefined && inRest(path, streams)}
          ${query !== undefined && inGraphql(queryAsOfBlock(query))}`,
    )}
  </details>
`;

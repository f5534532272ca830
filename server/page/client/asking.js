// How to ask for what a panel shows: the curl command and the GraphQL query.
import { html } from "./html.js";

/** @param {string} text */
const inShell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * @param {{ path: string, query?: string, streams?: boolean }} asked
 */
export const asking = ({ path, query, streams = false }) => html`
  <details class="asking">
    <summary>How to ask for this</summary>
    <p>REST:</p>
    <pre
      tabindex="0"
    ><code>curl ${streams ? "-N " : ""}${inShell(location.origin + path)}</code></pre>
    ${
      query !== undefined &&
      html`<p>
          GraphQL (<a href=${`/graphiql?query=${encodeURIComponent(query)}`}>open in GraphiQL</a>):
        </p>
        <pre tabindex="0"><code>${query}</code></pre>`
    }
  </details>
`;

// HTML from data: each value is escaped, so that a token's symbol stays text.

/** HTML that needs no escape. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = string | number | Html | readonly Html[];

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  // A parser takes it for a line feed.
  "\r": "&#13;",
};

const escaped = (text: string): string => text.replace(/[&<>"'\r]/g, (one) => ENTITIES[one] ?? one);

function asText(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(({ text }) => text).join("\n");
  return escaped(String(value));
}

/** Data for a module. Behind what is shown, since a browser draws nothing that follows before it has all of it. */
export const dataOf = (id: string, data: unknown): Html =>
  // Nothing else ends the element.
  new Html(
    `<script type="application/json" id="${id}">${JSON.stringify(data).replaceAll("<", "\\u003c")}</script>`,
  );

/** A template's values are escaped, except HTML. */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(String.raw({ raw: parts }, ...values.map(asText)));

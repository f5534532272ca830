// How long ago something was, kept right while it is shown.
import { Component } from "preact";
import { html } from "./html.js";
import { age } from "./times.js";

const EVERY_MS = 1000;

/** There can be a thousand: one timer serves all. @type {Set<Age>} */
const shown = new Set();
/** @type {ReturnType<typeof setInterval> | undefined} */
let timer;

const textOf = (/** @type {string} */ time) => `${age(Date.parse(time))} ago`;

/** @extends {Component<{ time: string }>} */
export class Age extends Component {
  text = "";

  componentDidMount() {
    shown.add(this);
    timer ??= setInterval(() => {
      for (const one of shown) if (one.text !== textOf(one.props.time)) one.forceUpdate();
    }, EVERY_MS);
  }

  componentWillUnmount() {
    shown.delete(this);
    if (shown.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  render() {
    const { time } = this.props;
    this.text = textOf(time);
    return html`<time class="age" datetime=${time} title=${time}>${this.text}</time>`;
  }
}

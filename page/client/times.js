// Times in the reader's zone or in UTC, as the reader has chosen.
import { store, stored } from "./stored.js";

const KEY = "times";

let isUtc = stored(KEY) === "utc";
/** By the object of their options. @type {WeakMap<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>} */
let formats = new WeakMap();

export const inUtc = () => isUtc;

/** @param {boolean} utc */
export function setUtc(utc) {
  isUtc = utc;
  formats = new WeakMap();
  store(KEY, utc ? "utc" : "local");
}

/**
 * @param {number} ms
 * @param {Intl.DateTimeFormatOptions} options One object for each kind of time, as making a format takes long.
 */
export function formatted(ms, options) {
  const zone = isUtc ? { timeZone: "UTC" } : {};
  const format =
    formats.get(options) ??
    new Intl.DateTimeFormat(undefined, { hourCycle: "h23", ...zone, ...options });
  formats.set(options, format);
  return format.format(ms);
}

/** @type {Intl.DateTimeFormatOptions} */
const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
/** @type {Intl.DateTimeFormatOptions} */
const DAY_AND_CLOCK = { year: "numeric", month: "short", day: "numeric", ...CLOCK };

/** @param {number} ms */
export const dayAndClock = (ms) => formatted(ms, DAY_AND_CLOCK);

/** @param {number} ms */
export const clock = (ms) => formatted(ms, CLOCK);

/** @type {[number, string][]} */
const UNITS = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
];

/**
 * How long ago, in its largest unit.
 * @param {number} ms
 */
export function age(ms) {
  const seconds = Math.max(0, Math.floor((Date.now() - ms) / 1000));
  const [length, name] = UNITS.find(([length]) => seconds >= length) ?? [1, "s"];
  return `${Math.floor(seconds / length)} ${name}`;
}

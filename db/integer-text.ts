// The integers of settings and options, as text.
import { z } from "zod";

/** Number() alone would take `0x10`, `1e3`, `-0` and a space; and a leading zero means another base elsewhere. */
export const INTEGER = /^(0|[1-9]\d*)$/;

/** The number of such a text. */
export const integerText = (min: number, max: number) =>
  z.string().regex(INTEGER).transform(Number).pipe(z.int().min(min).max(max));

// Decodes a log as one of the events of a kind of exchange.
import { decodeEventLog, toEventSelector, type Abi, type AbiEvent, type Hex } from "viem";
import type { ChainLog } from "../exchange-facts.ts";
import { Halt } from "../halt.ts";

/** Halts where the log has the topic of an event, and not its form. `exchange` is how the message names the kind. */
export function readEvent<const A extends Abi>(log: ChainLog, abi: A, exchange: string) {
  try {
    const read = decodeEventLog({ abi, topics: log.topics as [Hex, ...Hex[]], data: log.data });
    const [selector = "", ...indexed] = log.topics;
    const words = `${indexed.map((topic) => topic.slice(2)).join("")} ${log.data.slice(2)}`;
    if (formsOf(abi).get(selector)?.test(words) !== true) {
      throw new Error("a value is beyond its type, or there is one too many");
    }
    return read;
  } catch (error) {
    throw new Halt(
      `The log ${log.idx} of block ${log.block} is no event of ${exchange}: ${(error as Error).message.split("\n")[0]}`,
    );
  }
}

/** What the values of each event look like, by topic 0: a decoder reads them whatever stands before them in their words. */
const forms = new WeakMap<Abi, ReadonlyMap<string, RegExp>>();

function formsOf(abi: Abi): ReadonlyMap<string, RegExp> {
  const known = forms.get(abi);
  if (known !== undefined) return known;
  const events = abi.filter((item) => item.type === "event");
  const made = new Map(events.map((event) => [toEventSelector(event), formOf(event)]));
  forms.set(abi, made);
  return made;
}

function formOf({ inputs }: AbiEvent): RegExp {
  const words = (isIndexed: boolean): string =>
    inputs
      .filter(({ indexed = false }) => indexed === isIndexed)
      .map(({ type }) => wordOf(type))
      .join("");
  return new RegExp(`^${words(true)} ${words(false)}$`, "i");
}

function wordOf(type: string): string {
  const [, name = "", size = ""] = /^([a-z]+)(\d+)$/.exec(type) ?? [];
  const any = (digits: number): string => `[0-9a-f]{${digits}}`;
  const digits = Number(size) / 4;
  if (type === "address") return `0{24}${any(40)}`;
  if (type === "bool") return "0{63}[01]";
  if (name === "uint") return `0{${64 - digits}}${any(digits)}`;
  if (name === "int") {
    return `(?:0{${64 - digits}}[0-7]|f{${64 - digits}}[89a-f])${any(digits - 1)}`;
  }
  if (name === "bytes") return `${any(8 * digits)}0{${64 - 8 * digits}}`;
  // Of any length: its values are behind the words.
  return "[0-9a-f]*";
}

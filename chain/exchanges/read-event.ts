// Decodes a log as one of the events of a kind of exchange.
import {
  decodeAbiParameters,
  decodeEventLog,
  encodeAbiParameters,
  toEventSelector,
  type Abi,
  type AbiEvent,
  type AbiParameter,
  type DecodeEventLogReturnType,
  type Hex,
} from "viem";
import { address } from "../../db/load/values.ts";
import type { ChainLog } from "../exchange-facts.ts";
import { Halt } from "../halt.ts";

/** Halts where the log has the topic of an event, and not its form. `exchange` is how the message names the kind. */
export function readEvent<const A extends Abi>(
  log: ChainLog,
  abi: A,
  exchange: string,
): DecodeEventLogReturnType<A> {
  try {
    const [selector = "", ...indexed] = log.topics;
    const form = formsOf(abi).get(selector);
    if (form === undefined) throw new Error(`none has the topic ${selector}`);
    const topics = indexed.map((topic) => topic.slice(2)).join("");
    const found = form.words.exec(`${topics} ${log.data.slice(2)}`.toLowerCase());
    if (found === null || (form.values === undefined && !isClean(form.data, log.data))) {
      throw new Error("a value is beyond its type, or there is one too many or too few");
    }
    if (form.values === undefined) {
      return decodeEventLog({ abi, topics: log.topics as [Hex, ...Hex[]], data: log.data });
    }
    const args = Object.fromEntries(
      form.values.map(({ name, read }, at) => [name, read(found[at + 1] ?? "")]),
    );
    return { eventName: form.name, args } as unknown as DecodeEventLogReturnType<A>;
  } catch (error) {
    throw new Halt(
      `The log ${log.idx} of block ${log.block} is no event of ${exchange}: ${(error as Error).message.split("\n")[0]}`,
    );
  }
}

/** What the values of an event look like, and how they are read. */
interface Form {
  name: string;
  /** The words of the topics, a space, and those of the data, with the digits of each value as a group. */
  words: RegExp;
  /** In the order of their words. Undefined where viem reads them: where one may be longer than a word, or has no name. */
  values: { name: string; read: Read }[] | undefined;
  /** Those of the data, with text as bytes: it need not be UTF-8. */
  data: readonly AbiParameter[];
}

type Read = (digits: string) => string | number | bigint | boolean;

/** By topic 0. */
const forms = new WeakMap<Abi, ReadonlyMap<string, Form>>();

function formsOf(abi: Abi): ReadonlyMap<string, Form> {
  const known = forms.get(abi);
  if (known !== undefined) return known;
  const events = abi.filter((item) => item.type === "event");
  const made = new Map(events.map((event) => [toEventSelector(event), formOf(event)]));
  forms.set(abi, made);
  return made;
}

function formOf({ name, inputs }: AbiEvent): Form {
  const [topics, data] = [true, false].map((isIndexed) =>
    inputs
      .filter(({ indexed = false }) => indexed === isIndexed)
      .map((input) => ({ name: input.name, ...wordOf(input.type, isIndexed) })),
  ) as [NamedWord[], NamedWord[]];
  const formOfAll = (words: NamedWord[]): string => words.map(({ form }) => form).join("");
  const values = [...topics, ...data];
  const isRead = values.every((value) => value.read !== undefined && value.name !== undefined);
  // What is longer than a word is behind all words.
  const rest = data.some(({ read }) => read === undefined) ? "[0-9a-f]*" : "";
  return {
    name,
    words: new RegExp(`^${formOfAll(topics)} ${formOfAll(data)}${rest}$`),
    values: isRead ? (values as Form["values"]) : undefined,
    data: withTextAsBytes(inputs.filter(({ indexed = false }) => !indexed)),
  };
}

const withTextAsBytes = (inputs: readonly AbiParameter[]): AbiParameter[] =>
  JSON.parse(
    JSON.stringify(inputs).replaceAll('"type":"string', '"type":"bytes'),
  ) as AbiParameter[];

/** Whether the values alone make this data: viem takes some in lists that are beyond their types. Throws for others. */
const isClean = (values: readonly AbiParameter[], data: Hex): boolean =>
  encodeAbiParameters(values, decodeAbiParameters(values, data)) === data.toLowerCase();

interface Word {
  form: string;
  read?: Read;
}

type NamedWord = Word & { name: string | undefined };

/** A decoder alone would read the value whatever stands before it in its word. */
function wordOf(type: string, isIndexed: boolean): Word {
  const [, kind = "", size = ""] = /^([a-z]+)(\d+)$/.exec(type) ?? [];
  const any = (digits: number): string => `[0-9a-f]{${digits}}`;
  const bits = Number(size);
  const digits = bits / 4;
  if (type === "address") {
    return { form: `0{24}(${any(40)})`, read: (found) => address(`0x${found}`) };
  }
  if (type === "bool") return { form: "0{63}([01])", read: (found) => found === "1" };
  if (kind === "uint") {
    return {
      form: `0{${64 - digits}}(${any(digits)})`,
      read: (found) => sized(bits, BigInt(`0x${found}`)),
    };
  }
  if (kind === "int") {
    return {
      form: `((?:0{${64 - digits}}[0-7]|f{${64 - digits}}[89a-f])${any(digits - 1)})`,
      read: (found) => sized(bits, BigInt.asIntN(bits, BigInt(`0x${found}`))),
    };
  }
  if (kind === "bytes") {
    return { form: `(${any(2 * bits)})0{${64 - 2 * bits}}`, read: (found) => `0x${found}` };
  }
  // The place of what is longer, or its hash. Arrays of a fixed length and structs have their words here.
  const isOneWord = isIndexed || /^(string|bytes)$|\[\]$/.test(type);
  return { form: isOneWord ? any(64) : "[0-9a-f]*" };
}

/** As viem has it: a number where each value of the type is exact. */
const sized = (bits: number, value: bigint): number | bigint =>
  bits <= 48 ? Number(value) : value;

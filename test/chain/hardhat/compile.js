// Compiles the contracts beside this package, and prints them as JSON: { name: { abi, bytecode } }.
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { URL } from "node:url";
import solc from "solc";

const folder = new URL("../contracts/", import.meta.url);
const sources = Object.fromEntries(
  readdirSync(folder)
    .filter((file) => file.endsWith(".sol"))
    .map((file) => [file, { content: readFileSync(new URL(file, folder), "utf8") }]),
);
const output = JSON.parse(
  solc.compile(
    JSON.stringify({
      language: "Solidity",
      sources,
      settings: {
        optimizer: { enabled: true },
        outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
      },
    }),
  ),
);
const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"));

const contracts = Object.values(output.contracts).flatMap((file) =>
  Object.entries(file).map(([name, { abi, evm }]) => [
    name,
    { abi, bytecode: `0x${evm.bytecode.object}` },
  ]),
);
process.stdout.write(JSON.stringify(Object.fromEntries(contracts)));

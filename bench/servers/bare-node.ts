// A bare node:http server that sends fixed bytes; ANSWERS is a JSON file of answers by path.
//
// It is the upper limit of any server on node:http.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { listenAndTell } from "./listen.ts";
import type { KnownAnswer } from "../contenders.ts";

const answers = new Map(
  (JSON.parse(await readFile(process.env["ANSWERS"] ?? "", "utf8")) as KnownAnswer[]).map(
    ({ path, body }) => [path, Buffer.from(body)] as const,
  ),
);

listenAndTell(
  createServer((req, res) => {
    const bytes = answers.get(req.url ?? "");
    if (bytes === undefined) {
      res.writeHead(404).end();
      return;
    }
    res.writeHead(200, ["Content-Type", "application/json", "Content-Length", `${bytes.length}`]);
    res.end(bytes);
  }),
);

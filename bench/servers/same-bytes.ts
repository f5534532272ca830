// Sends fixed bytes by Express 5; ANSWERS is a JSON file of answers by path.
import express from "express";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { KnownAnswer } from "../contenders.ts";
import { listenAndTell } from "./listen-free.ts";

const answers = JSON.parse(await readFile(process.env["ANSWERS"] ?? "", "utf8")) as KnownAnswer[];

const app = express();
for (const { method, path, body } of answers) {
  const bytes = Buffer.from(body);
  app[method === "GET" ? "get" : "post"](path, (_req, res) => void res.type("json").send(bytes));
}
listenAndTell(createServer(app));

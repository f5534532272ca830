// A bare node:http server of event streams: what is posted to it goes to every follower as it is.
//
// It reads nothing, compares nothing and bounds nothing: the upper limit of any stream on node:http.
import { createServer, type ServerResponse } from "node:http";
import { listenAndTell } from "./listen-free.ts";

const followers = new Set<ServerResponse>();

const server = createServer((req, res) => {
  if (req.method === "POST") {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      const bytes = Buffer.concat(parts);
      for (const follower of followers) follower.write(bytes);
      res.end();
    });
    return;
  }
  res.writeHead(200, ["Content-Type", "text/event-stream"]);
  res.write(":\n\n");
  followers.add(res);
  res.on("close", () => followers.delete(res));
});
server.timeout = 0;
listenAndTell(server);

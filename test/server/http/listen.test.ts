// What is said where the system refuses the address.
import { createServer } from "node:http";
import { listen } from "../../../server/http/listen.ts";

/** A server whose system refuses with this code. */
function refusing(code: string) {
  const server = createServer();
  server.listen = () => {
    process.nextTick(() =>
      server.emit("error", Object.assign(new Error(`listen ${code}`), { code })),
    );
    return server;
  };
  return server;
}

const AT = { host: "127.0.0.1", port: 3000 };

it.each([
  [
    "ENOTSUP",
    "REUSE_PORT=1 is not supported by this system: Linux, FreeBSD, Solaris and AIX have it. Give each process a PORT of its own.",
  ],
  [
    "EADDRINUSE",
    "PORT 3000 of 127.0.0.1 is in use by a process without REUSE_PORT=1, or of another user. Give another PORT, or 0 for any that is free.",
  ],
])("names REUSE_PORT for %s", async (code, message) => {
  await expect(listen(refusing(code), { ...AT, reusePort: true })).rejects.toThrow(message);
});

it("names no REUSE_PORT without it", async () => {
  await expect(listen(refusing("ENOTSUP"), AT)).rejects.toThrow(
    "HOST 127.0.0.1, PORT 3000 cannot be listened on: listen ENOTSUP",
  );
});

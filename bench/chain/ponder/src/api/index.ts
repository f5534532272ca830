// Ponder wants a server of its own; nothing is asked of it but whether it is ready.
import { Hono } from "hono";

export default new Hono();

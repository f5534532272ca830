// Bytes that are to be kept, apart from where they came.

/** A copy with memory of its own: a small buffer may be a piece of a larger one, which would be kept with it. */
export function ownBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

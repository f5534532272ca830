// What is wrong with a request where documents are persisted.
import { ClientFacingError } from "../../http/errors.ts";

/** No persisted document has the identifier that a GraphQL request names. */
export class UnknownDocument extends ClientFacingError {
  constructor() {
    const message =
      "documentId must be sha256: and the SHA-256 of the text of a document that this service has, in lower-case hex digits";
    super(400, message, {}, "UNKNOWN_DOCUMENT");
  }
}

/** Only persisted documents are run, and this text is none. */
export class NotPersisted extends ClientFacingError {
  constructor() {
    const message =
      "This service runs only its persisted documents: give the documentId of one, or its very text as query";
    super(400, message, {}, "ONLY_PERSISTED");
  }
}

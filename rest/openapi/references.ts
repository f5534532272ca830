// References to what the OpenAPI document says once.
import { failures, type Failure } from "./error-responses.ts";
import type { HeaderName } from "./headers.ts";

export const failureName = (version: string, name: string): string =>
  `${version.toUpperCase()}${name}`;

export function failureRefs(version: string, isTold: (failure: Failure) => boolean): object {
  return Object.fromEntries(
    failures
      .filter(isTold)
      .map(({ status, name }) => [status, ref("responses", failureName(version, name))]),
  );
}

export const refs = (kind: string, names: readonly HeaderName[]): object =>
  Object.fromEntries(names.map((name) => [name, ref(kind, name)]));

export const ref = (kind: string, name: string): object => ({
  $ref: `#/components/${kind}/${name}`,
});

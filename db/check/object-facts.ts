// Reads the facts of catalog objects.
import type { CatalogObject } from "./catalog.ts";

type Facts = CatalogObject["facts"];

export function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/** A fact that is a list, such as the grants. */
export function listOf(facts: Facts, fact: string): string[] {
  const value = facts[fact];
  return Array.isArray(value) ? value.map(String) : [];
}

export function textOf(facts: Facts, fact: string): string {
  const value = facts[fact];
  return typeof value === "string" ? value : "";
}

/** A comment without its tags. */
export const descriptionOf = (comment: string): string =>
  comment.replace(/^(@[^\n]*(\n|$))*/, "").trim();

/** Whether a tag hides it from clients. */
export const isHidden = ({ facts }: CatalogObject): boolean =>
  /^@behavior -\*/m.test(textOf(facts, "comment"));

/** Whether it lacks a description that clients would see. */
export const isSilent = (object: CatalogObject): boolean =>
  descriptionOf(textOf(object.facts, "comment")) === "" && !isHidden(object);

/** Whether dex_reader has the right to read or to call it, perhaps by that of every role. */
export function isGrantedToReader({ kind, facts }: CatalogObject): boolean {
  const right = kind === "function" ? "execute" : "select";
  return listOf(facts, "grants").some((grant) =>
    [`${right} to dex_reader`, `${right} to public`].includes(grant),
  );
}

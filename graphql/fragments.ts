// Finds the fragments of a document.
import { Kind, type DocumentNode, type FragmentDefinitionNode } from "graphql";

export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** The fragments by name. */
export function fragmentsOf({ definitions }: DocumentNode): Fragments {
  const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  return new Map(
    (fragments as FragmentDefinitionNode[]).map((fragment) => [fragment.name.value, fragment]),
  );
}

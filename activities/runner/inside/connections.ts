import { connectionVariable, connectionsFrom } from "../../../authoring/connection.ts";

/** Looks connections up as if by their variables, so that case, `-` and `_` make no difference. */
export function connectionLookup(connections: Readonly<Record<string, string>>): (name: string) => string {
  return connectionsFrom(
    Object.fromEntries(Object.entries(connections).map(([name, value]) => [connectionVariable(name), value])),
  );
}

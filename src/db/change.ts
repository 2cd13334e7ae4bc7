/**
 * The rows that a control-plane write changed. They are read once and sent to every thread (engine/config-cache.ts) with
 * its own directory (accounts/directory.ts) and catalogue (catalog/catalog.ts).
 */

export interface Change {
  /** `data_key`: the data keys of a rotation; its id is empty. `branding`: the only row of its table. */
  readonly kind: 'account' | 'key' | 'tier' | 'model' | 'upstream' | 'data_key' | 'branding'
  readonly id: string
}

/** `everything`: reload all rows, as after a failover that lost commits. */
export type Changes = readonly Change[] | 'everything'

export function changedIds(changes: readonly Change[], kind: Change['kind']): string[] {
  return changes.filter((change) => change.kind === kind).map(({ id }) => id)
}

/** The result of a write to cached rows. */
export interface Changed<Value> {
  readonly value: Value
  readonly changes: readonly Change[]
}

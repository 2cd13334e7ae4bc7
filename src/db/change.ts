/**
 * What a control-plane write changed, so that whoever made it can tell every thread that keeps a copy:
 * the directory (accounts/directory.ts) and the catalogue (catalog/catalog.ts) load the named rows again.
 */

export interface Change {
  readonly kind: 'account' | 'key' | 'tier' | 'model' | 'upstream'
  readonly id: string
}

/** `everything`: also what is gone without a trace, as after a failover that has lost commits. */
export type Changes = readonly Change[] | 'everything'

/** The answer of a write that others keep a copy of. */
export interface Changed<Value> {
  readonly value: Value
  readonly changes: readonly Change[]
}

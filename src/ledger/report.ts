/** The result of a verification of the ledger. */
export interface LedgerReport {
  readonly ok: boolean
  /** Entries that follow from the journal. */
  readonly entries: number
  /** Sum of all differences found, in nanos. */
  readonly drift: bigint
  readonly openHolds: number
  readonly overrun: bigint
  /** Human-readable findings, at most the first hundred. Empty if `ok`. */
  readonly findings: readonly string[]
}

/** What an account has, in nanos, in the open periods of its time zone. */
export interface Wallet {
  readonly balance: bigint
  readonly held: bigint
  /** How much can still be held: the minimum over the balance and the caps, less what is held. */
  readonly available: bigint
  readonly spentToday: bigint
  readonly spentMonth: bigint
}

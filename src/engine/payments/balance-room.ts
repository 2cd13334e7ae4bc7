/** The ledger's maximum of a balance, asked about before a payment is recorded: it cannot refuse what has come afterwards. */
import { maxBalance } from '../../ledger/operations.ts'
import type { Wallet } from '../caller-limits.ts'

export interface BalanceDeps {
  readonly wallet: (account: string) => Promise<Pick<Wallet, 'balance' | 'held'>>
}

/** Whether the balance has room for this much more, in nanos. */
export async function hasRoom({ wallet }: BalanceDeps, account: string, nanos: bigint): Promise<boolean> {
  const { balance } = await wallet(account)
  return balance + nanos <= maxBalance
}

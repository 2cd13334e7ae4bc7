/** What an entry of an account is called, as a key of the texts of kinds and sources. */
import type { AccountEntry, Entry } from '../../api/contract.ts'

/** `payback`: a refund or a dispute took a payment or its bonus back. */
export function entrySource({
  kind,
  source,
  amount,
}: Pick<AccountEntry | Entry, 'kind' | 'source' | 'amount'>): string {
  const isTakenBack = amount.startsWith('-') && (source === 'payment' || source === 'bonus')
  return isTakenBack ? 'payback' : (source ?? kind)
}

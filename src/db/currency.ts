/**
 * The platform's currency: one per installation, written at the first start and never changed, because amounts are stored
 * without a currency. Stores of releases before 0.9 have CNY, by migration.
 */

import type { Db } from './db.ts'
import { getSetting, insertSettingStatement } from './settings.ts'

/** The name of the setting in the store. */
export const currencySetting = 'currency'
/** What the first start writes without `CURRENCY`. */
export const defaultCurrency = 'CNY'

/** Why a relay with this `CURRENCY` would not start; null: it is not set, or the same as that of the store. */
export function findCurrencyProblem(stored: string, configured: string | null): string | null {
  if (configured === null || configured === stored) return null
  return `CURRENCY is ${configured}, but the amounts of this installation are in ${stored}, which cannot be changed: set CURRENCY to ${stored} or remove it.`
}

/**
 * The currency of the store, ISO 4217; the first start writes `configured` or, if it is null, CNY. Throws an error that
 * names both if they differ.
 */
export async function openCurrency(db: Db, configured: string | null): Promise<string> {
  let stored = await getSetting(db, currencySetting)
  if (stored === undefined) {
    const currency = configured ?? defaultCurrency
    await db.write(insertSettingStatement(currencySetting, currency))
    // Several nodes may start at the same time: the first one wins.
    stored = (await getSetting(db, currencySetting)) ?? currency
  }
  const problem = findCurrencyProblem(stored, configured)
  if (problem !== null) throw new Error(problem)
  return stored
}

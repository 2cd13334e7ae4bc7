/** Accounts for tests of their credits, without those of `accounts/`. */
import type { Db } from '../../db/db.ts'
import { sql } from '../../db/schema/schema.ts'

const at = 1_790_000_000_000

export async function insertAccounts(db: Db, ...ids: string[]): Promise<void> {
  const row = {
    name: '',
    tier: 'new',
    status: 'active' as const,
    timezone: 'UTC',
    limits: '{}',
    trial: 0 as const,
  }
  const rows = ids.map((id) => ({
    ...row,
    id,
    email: id,
    email_normalised: id,
    created_at: at,
    updated_at: at,
  }))
  const none = { price_factor_ppm: null, cap_daily_nanos: null, cap_monthly_nanos: null }
  const unset = { ...none, low_balance_nanos: null, first_paid_at: null }
  await db.write(sql.insertInto('accounts').values(rows.map((each) => ({ ...each, ...unset }))))
}

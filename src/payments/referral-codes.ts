/** Referral codes: one per account, made when its pages first show it. A code names who invited; it is no secret. */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { sql } from '../db/schema/schema.ts'
import { isUniqueViolation } from '../db/store-error.ts'
import { generateVoucherCode, normalizeVoucherCode } from '../lib/voucher-code.ts'

export function areReferralsOn(config: Config): boolean {
  return config.referralRewardReferrer !== null || config.referralRewardInvited !== null
}

/** 40 random bits: `3K7QZX0M`. */
const generateCode = (): string => generateVoucherCode().split('-').slice(0, 2).join('')

export async function referralCodeOf(db: Db, account: string): Promise<string> {
  const query = sql.selectFrom('referral_codes').select('code').where('account_id', '=', account)
  for (;;) {
    const row = await db.first(query)
    if (row !== undefined) return row.code
    const created = { account_id: account, code: generateCode(), created_at: Date.now() }
    try {
      await db.write(
        sql
          .insertInto('referral_codes')
          .values(created)
          .onConflict((conflict) => conflict.column('account_id').doNothing()),
      )
    } catch (error) {
      if (!isUniqueViolation(error, 'referral_codes.code')) throw error
    }
  }
}

/** The account that has this code, as somebody typed it. */
export async function referrerOf(db: Db, typed: string): Promise<string | undefined> {
  const code = normalizeVoucherCode(typed)
  const row = await db.first(sql.selectFrom('referral_codes').select('account_id').where('code', '=', code))
  return row?.account_id
}

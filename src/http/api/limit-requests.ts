/** A customer's request for higher limits, as both APIs show it. */
import { z } from 'zod'
import { jsonFields } from './json-fields.ts'
import { accountById } from '../../accounts/accounts.ts'
import { view } from './define-endpoints.ts'
import type { LimitRequest } from '../../accounts/limit-requests.ts'
import { limits, time } from './json-schemas.ts'

export const limitRequest = z.object({
  id: z.string(),
  account: z.string(),
  account_email: z.string(),
  wanted: limits.partial(),
  reason: z.string(),
  status: z.enum(['open', 'granted', 'declined']),
  answer: z.string().nullable(),
  created_at: time,
  answered_at: time.nullable(),
})

export type LimitRequestJson = z.infer<typeof limitRequest>

export function serializeLimitRequest(request: LimitRequest, email: string): LimitRequestJson {
  const { accountId: account, wanted, ...rest } = request
  return { ...jsonFields(rest), account, account_email: email, wanted }
}

export const limitRequestView = view('request', limitRequest, async (request: LimitRequest, { db }) =>
  serializeLimitRequest(request, (await accountById(db, request.accountId))?.email ?? ''),
)

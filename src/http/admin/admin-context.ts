/** What every handler of the admin API works with: the services, and the actor on whose behalf it runs. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { parseBearer } from '../header-values.ts'
import { apiError } from '../../errors.ts'
import { parseAmount } from '../../lib/money.ts'
import { isConfirmed, type SessionIds } from '../../users/session-confirmation.ts'
import { endpointsFor } from '../api/define-endpoints.ts'
import { pageFields } from '../api/pagination.ts'
import type { AppContext } from '../app-context.ts'

/** Who calls the admin API. */
export interface AdminCaller {
  /** The actor, as the audit log names it. */
  readonly by: string
  /** The operator's session; null for callers with ADMIN_API_KEY and for commands. */
  readonly session: SessionIds | null
}

/** What authentication found out about a request. */
export interface AdminEnv {
  readonly Variables: { readonly caller: AdminCaller }
}

export interface AdminContext extends AdminCaller {
  readonly ctx: AppContext
}

export const admin = endpointsFor<AdminContext>('admin', pageFields)

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Compares digests in constant time, so that timing reveals neither the content nor the length of the key. */
export function authenticateByKey(adminApiKey: string | null): (request: Request) => AdminCaller {
  const expected = adminApiKey === null || adminApiKey === '' ? null : sha256(adminApiKey)
  return ({ headers }) => {
    if (expected === null) throw apiError('not_found')
    const key = parseBearer(headers.get('authorization') ?? '') ?? ''
    if (!timingSafeEqual(sha256(key), expected)) throw apiError('invalid_api_key')
    return { by: 'admin-api', session: null }
  }
}

/** The end of a sentence in the OpenAPI document. */
export const confirmationRule =
  'requires, with an operator’s session instead of ADMIN_API_KEY, that the password was entered again within the last five minutes; otherwise the response is 403 `password_required`.'

/** The end of a sentence in the OpenAPI document. */
export const confirmationAboveRule = `above \`CONFIRM_ABOVE\`, it ${confirmationRule}`

/** For an amount of money above the setting CONFIRM_ABOVE; see `requireConfirmation`. */
export async function requireConfirmationAbove(context: AdminContext, nanos: bigint): Promise<void> {
  const isAbove = (nanos < 0n ? -nanos : nanos) > parseAmount(context.ctx.config.confirmAbove)
  if (isAbove) await requireConfirmation(context)
}

/** Throws 403 unless the operator has proved within the last minutes who they are. Callers without a session pass. */
export async function requireConfirmation({ ctx, session }: AdminContext): Promise<void> {
  if (session === null || (await isConfirmed(ctx.db, session, Date.now()))) return
  const message =
    'Enter your password again to do this: POST /api/console/me/confirm, then repeat the call within five minutes.'
  throw apiError('password_required', { message })
}

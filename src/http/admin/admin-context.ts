/** What every handler of the admin API works with: the services, and the actor on whose behalf it runs. */
import { apiError } from '../../errors.ts'
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

export interface AdminContext extends AdminCaller {
  readonly ctx: AppContext
}

export const admin = endpointsFor<AdminContext>('admin', pageFields)

/** The end of a sentence in the OpenAPI document. */
export const confirmationRule =
  'requires, with an operator’s session instead of ADMIN_API_KEY, that the password was entered again within the last five minutes; otherwise the response is 403 `password_required`.'

/** Throws 403 unless the operator has proved within the last minutes who they are. Callers without a session pass. */
export async function requireConfirmation({ ctx, session }: AdminContext): Promise<void> {
  if (session === null || (await isConfirmed(ctx.db, session, Date.now()))) return
  const message =
    'Enter your password again to do this: POST /api/console/me/confirm, then repeat the call within five minutes.'
  throw apiError('password_required', { message })
}

/** Impersonation only reads: an operator sees what the customer sees, and changes nothing in the customer's name. */
import { apiError } from '../../../errors.ts'
import type { Session } from '../../../users/sessions.ts'
import { authContract, impersonationContract } from '../contract/auth.ts'

/** The calls that end the impersonation. */
const endingPaths: readonly string[] = [impersonationContract.stop.path, authContract.signOut.path]

/** Throws 403 for every call that writes, unless it ends the impersonation. `path` is relative to /api/console. */
export function rejectWhileImpersonating(
  session: Session | undefined,
  { method, path }: { readonly method: string; readonly path: string },
): void {
  if (session === undefined || session.impersonatedAccount === null) return
  if (method === 'GET' || endingPaths.includes(path)) return
  throw apiError('permission_denied', {
    message: 'You cannot change anything while you impersonate an account. End the impersonation first.',
  })
}

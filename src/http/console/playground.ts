/**
 * Calls that a page of the console makes: the same door, checks and charges as a caller with a key, in the place of
 * which stands the session. The key behind it is the account's own console key, whose secret nobody has.
 */
import { consoleKeyId, makeConsoleKey } from '../../accounts/console-key.ts'
import type { Caller } from '../../accounts/directory.ts'
import { refuse } from '../../errors.ts'
import { signedInBy } from '../../users/sessions.ts'
import type { Arrival } from '../incoming-request.ts'
import type { House } from '../house.ts'
import { tokenIn } from './cookie.ts'
import { checkSameSite } from './auth/csrf.ts'

/** Throws 401 and 403 as the console's other calls do; an operator who looks at an account may not spend its money. */
export async function callerOfSession(house: House, arrival: Arrival): Promise<Caller> {
  const { config, db, directory } = house
  checkSameSite(config, { method: arrival.method, header: (name) => arrival.header(name) })
  const token = tokenIn(config, arrival.header('cookie'))
  const signedIn = token === undefined ? undefined : await signedInBy(db, token)
  if (signedIn === undefined) throw refuse('session_required')
  const { person, session } = signedIn
  if (session.actingAccount !== null) {
    throw refuse('permission_denied', { message: 'Who only looks at an account does not spend its money.' })
  }
  if (person.accountId === null) throw refuse('no_account')
  const known = directory.keyById(consoleKeyId(person.accountId))
  if (known !== undefined) return known
  const { value, changes } = await makeConsoleKey(db, person.accountId)
  await house.announce(changes)
  const caller = directory.keyById(value)
  if (caller === undefined) throw refuse('no_account')
  return caller
}

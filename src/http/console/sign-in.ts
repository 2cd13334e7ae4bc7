/**
 * Signing in and out. A wrong password, an unknown address and a person who may not come in get the same answer after
 * the same work; tries are counted by address and by e-mail address, whether it exists or not.
 */
import type { z } from 'zod'
import { cleanEmail } from '../../accounts/fields.ts'
import { refuse } from '../../errors.ts'
import { beginPasskeySignIn, personByPasskey } from '../../users/passkeys.ts'
import { personByEmail, personById, type Person } from '../../users/users.ts'
import { takeRecoveryCode, takeTotpCode } from '../../people/second-factor.ts'
import { endSession, openSession, type SignedIn } from '../../users/sessions.ts'
import { makeTicket, takeTicket, tryTicket } from '../../people/tickets.ts'
import { timeOf } from '../admin/schemas.ts'
import { publicAddressOf } from '../public-urls.ts'
import { entranceCalls } from './contract/entrance.ts'
import { cookieFor, noCookie } from './cookie.ts'
import { sessionView } from './session-view.ts'
import { bound, type Bound, type Visit } from './visit.ts'

type CameIn = z.input<typeof entranceCalls.secondFactor.answer>
type SignInAnswer = z.input<typeof entranceCalls.signIn.answer>

/** Opens a session in the place of the one that was there, gives its cookie, and tells who one is now. */
export async function comeInAs(visit: Visit, person: Person, means: string): Promise<CameIn> {
  const { desk, context, house } = visit
  const { db, config } = house
  const agent = context.req.header('user-agent') ?? ''
  const { session, token } = await openSession(db, person, { address: visit.address, agent, means })
  if (visit.signedIn !== null) await endSession(db, visit.signedIn.person, visit.signedIn.session.id)
  context.header('set-cookie', cookieFor(config, token, session.expiresAt))
  const signedIn: SignedIn = { session, person }
  return { status: 'signed_in', session: await sessionView(desk, signedIn) }
}

/** An address as people are found by it; what is none belongs to nobody. */
function normalisedOf(text: string): string {
  try {
    return cleanEmail(text).normalised
  } catch {
    return text.trim().toLowerCase()
  }
}

async function signIn(visit: Visit<typeof entranceCalls.signIn>): Promise<SignInAnswer> {
  const { house, body } = visit
  const { db, guard } = house
  const email = normalisedOf(body.email)
  await guard.count('sign-in-address', visit.address)
  await guard.count('sign-in-email', email)
  const person = await personByEmail(db, email)
  const isRight = await guard.isPassword(body.password, person?.passwordHash ?? null)
  if (!isRight || person === undefined || person.disabledAt !== null) throw refuse('wrong_credentials')
  if (!person.hasTotp) {
    await guard.forgive('sign-in-email', email)
    return comeInAs(visit, person, 'password')
  }
  const { token, expiresAt } = await makeTicket(db, { kind: 'second-factor', personId: person.id })
  return { status: 'second_factor', ticket: token, expires_at: timeOf(expiresAt) }
}

async function secondFactor(visit: Visit<typeof entranceCalls.secondFactor>): Promise<CameIn> {
  const { house, body } = visit
  const { db, guard, sealer } = house
  await guard.count('sign-in-address', visit.address)
  const { personId } = await tryTicket(db, body.ticket, 'second-factor')
  const person = await personById(db, personId ?? '')
  if (person === undefined || person.disabledAt !== null) throw refuse('wrong_credentials')
  const isOfApp = await takeTotpCode(db, person, sealer, body.code)
  if (!isOfApp && !(await takeRecoveryCode(db, person, body.code)))
    throw refuse('wrong_code', { param: 'code' })
  await takeTicket(db, body.ticket, 'second-factor')
  await guard.forgive('sign-in-email', normalisedOf(person.email))
  return comeInAs(visit, person, isOfApp ? 'totp' : 'recovery-code')
}

/** The origin that a passkey belongs to: the page's own, which `checkSameSite` has looked at. */
export function originOf(visit: Visit): string {
  return visit.context.req.header('origin') ?? new URL(publicAddressOf(visit.house.config)).origin
}

async function passkeySignIn(visit: Visit<typeof entranceCalls.passkeySignIn>): Promise<CameIn> {
  await visit.house.guard.count('sign-in-address', visit.address)
  return comeInAs(visit, await personByPasskey(visit.house.db, visit.body), 'passkey')
}

async function signOut(visit: Visit): Promise<{ done: true }> {
  const { signedIn, house, context } = visit
  if (signedIn !== null) await endSession(house.db, signedIn.person, signedIn.session.id)
  context.header('set-cookie', noCookie(house.config))
  return { done: true }
}

export const signInCalls: readonly Bound[] = [
  bound(entranceCalls.session, (visit) => sessionView(visit.desk, visit.signedIn)),
  bound(entranceCalls.signIn, signIn),
  bound(entranceCalls.secondFactor, secondFactor),
  bound(entranceCalls.passkeyOptions, async (visit) => {
    await visit.house.guard.count('sign-in-address', visit.address)
    return beginPasskeySignIn(visit.house.db, { origin: originOf(visit) })
  }),
  bound(entranceCalls.passkeySignIn, passkeySignIn),
  bound(entranceCalls.signOut, signOut),
]

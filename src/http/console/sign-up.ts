/**
 * Becoming somebody here: signing up, with the e-mail address verified where mail is sent; and the set-up, by which the
 * one who started the relay becomes its first operator. What is verified first is opened only then, so an address that
 * is not one's own cannot be taken.
 */
import { accountByEmail, createAccount } from '../../accounts/accounts.ts'
import { cleanEmail, cleanName, cleanTimezone, type Email } from '../../accounts/fields.ts'
import { refuse } from '../../errors.ts'
import { checkInvite, takingInvite } from '../../users/invites.ts'
import { letterOf } from '../../users/emails.ts'
import { checkNewPassword } from '../../users/password.ts'
import {
  emailTaken,
  newPerson,
  peopleOfAccount,
  personByEmail,
  type Language,
  type Person,
  type PersonInput,
} from '../../users/users.ts'
import { makeTicket, orInvalid, takeTicket, usingTicket, voidingAll } from '../../people/tickets.ts'
import { isTaken, isUndone } from '../../db/store-error.ts'
import { grantTrial } from '../trial.ts'
import { publicAddressOf, linkTo } from '../public-urls.ts'
import { checkOperatorLink } from './access-links.ts'
import { entranceCalls } from './contract/entrance.ts'
import { post } from './post.ts'
import { comeInAs } from './sign-in.ts'
import { bound, type Bound, type Visit } from './visit.ts'

/** What was asked for at the sign-up; kept in the ticket until the address is verified. */
interface Asked {
  readonly email: string
  readonly name: string
  readonly language: Language
  readonly passwordHash: string
  readonly timezone: string | null
  readonly invite: string | null
  readonly promotion: string | null
}

type SignUp = Visit<typeof entranceCalls.signUp>

function inputOf(asked: Asked, { email, normalised }: Email, isVerified: boolean): PersonInput {
  const { name, language, passwordHash } = asked
  return { email, normalised, name, role: 'customer', accountId: null, language, passwordHash, isVerified }
}

/** Opens the account with its person; an account of this address that has nobody yet is the verified owner's. */
async function open(visit: Visit, asked: Asked, isVerified: boolean): Promise<Person> {
  const { house } = visit
  const { db } = house
  const { invite, name, timezone } = asked
  const clean = cleanEmail(asked.email)
  const input = inputOf(asked, clean, isVerified)
  const by = `customer:${clean.email}`
  const taking = invite === null ? [] : [takingInvite(invite)]
  const known = await accountByEmail(db, clean.email)
  if (known !== undefined) {
    if (!isVerified || (await peopleOfAccount(db, known.id)).length > 0) throw emailTaken()
    const { person, statements } = newPerson({ ...input, accountId: known.id }, by)
    await db.write(...statements, ...taking)
    return person
  }
  let made: Person | undefined
  const account = { email: clean.email, name, timezone: timezone ?? house.config.timezone }
  const { changes } = await createAccount(db, account, by, (accountId) => {
    const { person, statements } = newPerson({ ...input, accountId }, by)
    made = person
    return [...statements, ...taking]
  })
  await house.announce(changes)
  if (made === undefined) throw new Error('An account was opened without its person.')
  return made
}

/** As `open`, with the trial credit that there is, and the words for what somebody else was quicker at. */
async function opened(visit: Visit, asked: Asked, isVerified: boolean): Promise<Person> {
  try {
    const person = await open(visit, asked, isVerified)
    const { accountId: account, email } = person
    if (account !== null) {
      await grantTrial(visit.house, { account, email, promotion: asked.promotion ?? undefined })
    }
    return person
  } catch (error) {
    if (isTaken(error, 'persons.email_normalised')) throw emailTaken()
    // The one expectation of the batch that can fail is the use of the invite.
    throw isUndone(error) ? refuse('invite_invalid', { param: 'invite' }) : error
  }
}

async function askedBy(visit: SignUp): Promise<Asked> {
  const { body, house } = visit
  const { signUp } = house.config
  if (signUp === 'closed') throw refuse('sign_up_closed')
  const { email } = cleanEmail(body.email)
  checkNewPassword(body.password, email)
  const timezone = body.timezone === undefined ? null : cleanTimezone(body.timezone)
  const name = cleanName(body.name)
  if (signUp === 'invite') await checkInvite(house.db, body.invite)
  const passwordHash = await house.guard.hashOfPassword(body.password)
  const invite = signUp === 'invite' ? (body.invite ?? null) : null
  const promotion = body.promotion ?? null
  return { email, name, language: body.language, passwordHash, timezone, invite, promotion }
}

async function signUp(visit: SignUp) {
  const { house, desk, body } = visit
  await house.guard.count('sign-up-address', visit.address)
  const asked = await askedBy(visit)
  if (desk.mailer === null) return comeInAs(visit, await opened(visit, asked, false), 'sign-up')
  const { normalised } = cleanEmail(asked.email)
  await house.guard.count('mail-email', normalised)
  const known = await personByEmail(house.db, normalised)
  const { token } = await makeTicket(house.db, { kind: 'verify-email', detail: asked })
  const letter =
    known === undefined
      ? letterOf('verify-email', body.language, linkTo(house.config, 'verify-email', token))
      : letterOf('known-email', known.language, `${publicAddressOf(house.config)}/console/`)
  post(desk, { to: asked.email, ...letter })
  return { status: 'verify_email' as const }
}

async function verifyEmail(visit: Visit<typeof entranceCalls.verifyEmail>) {
  const { house, body } = visit
  await house.guard.count('link-address', visit.address)
  const { detail } = await takeTicket(house.db, body.token, 'verify-email')
  return comeInAs(visit, await opened(visit, detail as object as Asked, true), 'sign-up')
}

async function setUp(visit: Visit<typeof entranceCalls.setUp>) {
  const { house, body } = visit
  const { db, guard } = house
  await guard.count('link-address', visit.address)
  await checkOperatorLink(db, body.token)
  const { email, normalised } = cleanEmail(body.email)
  checkNewPassword(body.password, email)
  const name = cleanName(body.name)
  const passwordHash = await guard.hashOfPassword(body.password)
  const { language } = body
  const about = { email, normalised, name, language, passwordHash, isVerified: false }
  const { person, statements } = newPerson({ ...about, role: 'operator', accountId: null })
  try {
    await orInvalid(db.write(usingTicket(body.token), voidingAll('set-up'), ...statements))
  } catch (error) {
    throw isTaken(error, 'persons.email_normalised') ? emailTaken() : error
  }
  return comeInAs(visit, person, 'set-up')
}

export const signUpCalls: readonly Bound[] = [
  bound(entranceCalls.signUp, signUp),
  bound(entranceCalls.verifyEmail, verifyEmail),
  bound(entranceCalls.setUp, setUp),
]

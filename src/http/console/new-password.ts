/** When a password is lost: a link by mail where mail is sent, else one from an operator. Both open once. */
import { cleanEmail } from '../../accounts/fields.ts'
import { refuse } from '../../errors.ts'
import { letterOf } from '../../users/emails.ts'
import { endingPasskeys } from '../../users/passkeys.ts'
import { checkNewPassword } from '../../users/password.ts'
import { actorOf, personByEmail, personById, updatePerson } from '../../users/users.ts'
import { endingTotp } from '../../people/second-factor.ts'
import { endingSessions } from '../../users/sessions.ts'
import { makeTicket, takeTicket, ticketBy } from '../../people/tickets.ts'
import { linkTo } from '../public-urls.ts'
import { entranceCalls } from './contract/entrance.ts'
import { post } from './post.ts'
import { bound, type Bound, type Visit } from './visit.ts'

async function askReset(visit: Visit<typeof entranceCalls.askReset>): Promise<{ done: true }> {
  const { house, desk, body } = visit
  const { db, guard, config } = house
  if (desk.mailer === null) throw refuse('not_found', { message: 'No mail is sent here: ask an operator.' })
  const { normalised } = cleanEmail(body.email)
  await guard.count('mail-address', visit.address)
  await guard.count('mail-email', normalised)
  const person = await personByEmail(db, normalised)
  if (person === undefined || person.disabledAt !== null) return { done: true }
  const { token } = await makeTicket(db, { kind: 'reset-password', personId: person.id, alone: true })
  const link = linkTo(config, 'reset-password', token)
  post(desk, { to: person.email, ...letterOf('reset-password', person.language, link) })
  return { done: true }
}

async function reset(visit: Visit<typeof entranceCalls.reset>): Promise<{ done: true }> {
  const { house, body } = visit
  const { db, guard } = house
  await guard.count('link-address', visit.address)
  const looked = await ticketBy(db, body.token, 'reset-password', 'access')
  const person = await personById(db, looked.personId ?? '')
  if (person === undefined) throw refuse('link_invalid')
  checkNewPassword(body.password, person.email)
  const passwordHash = await guard.hashOfPassword(body.password)
  const { kind, detail } = await takeTicket(db, body.token, 'reset-password', 'access')
  const forgets = detail['forgetSecondFactor'] === true
  // A letter that arrived proves the address; a link that was handed over does not.
  const isVerified = kind === 'reset-password' ? true : undefined
  await updatePerson(
    db,
    person.id,
    { passwordHash, isVerified },
    {
      by: actorOf(person),
      also: [
        endingSessions(person.id),
        ...(forgets ? [...endingTotp(person.id), endingPasskeys(person.id)] : []),
      ],
    },
  )
  return { done: true }
}

export const newPasswordCalls: readonly Bound[] = [
  bound(entranceCalls.askReset, askReset),
  bound(entranceCalls.reset, reset),
]

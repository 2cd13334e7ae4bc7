/** What a person sets for oneself. Whoever changes how one signs in shows the password again first. */
import { renderSVG } from 'uqr'
import { cleanName, cleanRequiredName } from '../../accounts/fields.ts'
import { refuse } from '../../errors.ts'
import { addPasskey, beginPasskey, endPasskey, listPasskeys, type Passkey } from '../../users/passkeys.ts'
import { checkNewPassword } from '../../users/password.ts'
import { updatePerson } from '../../users/users.ts'
import { beginTotp, confirmTotp, endTotp, renewRecoveryCodes } from '../../people/second-factor.ts'
import { endingSessions, endOtherSessions, endSession, listSessions } from '../../users/sessions.ts'
import { timeOf } from '../admin/schemas.ts'
import { personCalls } from './contract/person.ts'
import { noCookie } from './cookie.ts'
import { sessionView } from './session-view.ts'
import { originOf } from './sign-in.ts'
import { bound, type Bound, type Visit } from './visit.ts'

const done = { done: true } as const

/** Throws 401 when the password is not the person's own. Who has none, came by a link or a passkey, shows none. */
async function prove(visit: Visit, password: string | undefined): Promise<void> {
  const { person, house } = visit
  await house.guard.count('proof-person', person.id)
  if (person.passwordHash === null) return
  if (!(await house.guard.isPassword(password ?? '', person.passwordHash))) {
    throw refuse('wrong_credentials', { param: 'password', message: 'This is not your password.' })
  }
  await house.guard.forgive('proof-person', person.id)
}

async function change(visit: Visit<typeof personCalls.change>) {
  const { body, desk, present, person, by } = visit
  const name = body.name === undefined ? undefined : cleanName(body.name)
  const changed = await updatePerson(desk.house.db, person.id, { name, language: body.language }, { by })
  return sessionView(desk, { ...present, person: changed })
}

async function changePassword(visit: Visit<typeof personCalls.changePassword>) {
  const { body, house, person, session, by } = visit
  await prove(visit, body.current)
  checkNewPassword(body.password, person.email)
  const passwordHash = await house.guard.hashOfPassword(body.password)
  const also = [endingSessions(person.id, session.id)]
  await updatePerson(house.db, person.id, { passwordHash }, { by, also })
  return done
}

async function sessions({ house, person, session }: Visit) {
  const open = await listSessions(house.db, person)
  return {
    data: open.map((each) => ({
      id: each.id,
      current: each.id === session.id,
      address: each.address,
      agent: each.agent,
      acting: each.actingAccount !== null,
      created_at: timeOf(each.createdAt),
      seen_at: timeOf(each.seenAt),
      expires_at: timeOf(each.expiresAt),
    })),
  }
}

async function endOneSession(visit: Visit) {
  const { house, person, session, context } = visit
  const id = visit.param('id')
  if (!(await endSession(house.db, person, id))) throw refuse('not_found')
  if (id === session.id) context.header('set-cookie', noCookie(house.config))
  return done
}

function passkeyView({ id, name, createdAt, lastUsedAt }: Passkey) {
  return { id, name, created_at: timeOf(createdAt), last_used_at: timeOf(lastUsedAt) }
}

const secondFactorCalls: readonly Bound[] = [
  bound(personCalls.beginTotp, async (visit) => {
    await prove(visit, visit.body.password)
    const { secret, uri } = await beginTotp(visit.house.db, visit.person, visit.house.sealer)
    return { secret, uri, qr: renderSVG(uri, { border: 2 }) }
  }),
  bound(personCalls.confirmTotp, async ({ house, person, body }) => {
    await house.guard.count('proof-person', person.id)
    const { sealer } = house
    return { recovery_codes: await confirmTotp(house.db, person, { sealer, code: body.code }) }
  }),
  bound(personCalls.endTotp, async (visit) => {
    await prove(visit, visit.body.password)
    await endTotp(visit.house.db, visit.person)
    return done
  }),
  bound(personCalls.newRecoveryCodes, async (visit) => {
    await prove(visit, visit.body.password)
    return { recovery_codes: await renewRecoveryCodes(visit.house.db, visit.person) }
  }),
]

const passkeyCalls: readonly Bound[] = [
  bound(personCalls.passkeys, async ({ house, person }) => {
    return { data: (await listPasskeys(house.db, person.id)).map(passkeyView) }
  }),
  bound(personCalls.passkeyOptions, async (visit) => {
    await prove(visit, visit.body.password)
    return beginPasskey(visit.house.db, visit.person, { origin: originOf(visit) })
  }),
  bound(personCalls.addPasskey, async ({ house, person, body }) => {
    const { ticket, response } = body
    const name = cleanRequiredName(body.name)
    return passkeyView(await addPasskey(house.db, person, { ticket, response, name }))
  }),
  bound(personCalls.endPasskey, async (visit) => {
    if (!(await endPasskey(visit.house.db, visit.person, visit.param('id')))) throw refuse('not_found')
    return done
  }),
]

export const meCalls: readonly Bound[] = [
  bound(personCalls.change, change),
  bound(personCalls.changePassword, changePassword),
  bound(personCalls.sessions, sessions),
  bound(personCalls.endSession, endOneSession),
  bound(personCalls.endOtherSessions, async ({ house, present }) => ({
    ended: await endOtherSessions(house.db, present),
  })),
  ...secondFactorCalls,
  ...passkeyCalls,
]

/** Who am I, and where: what every page of the console begins with. */
import { setting } from '../../db/settings.ts'
import { hasOperator, languages } from '../../users/users.ts'
import { listPasskeys } from '../../users/passkeys.ts'
import { recoveryCodesLeft } from '../../people/second-factor.ts'
import type { SignedIn } from '../../users/sessions.ts'
import { currency } from '../../usage/request-records.ts'
import { baseUrlsOf, publicAddressOf } from '../public-urls.ts'
import { timeOf } from '../admin/schemas.ts'
import type { Person, Platform, Session } from './contract/entrance.ts'
import { accountIdOf, type ConsoleDesk } from './visit.ts'

async function platformView({ house, mailer }: ConsoleDesk): Promise<Platform> {
  const { config, db, version } = house
  const [isRun, demonstration] = await Promise.all([hasOperator(db), setting(db, 'demo_begun')])
  return {
    version,
    currency,
    public_url: publicAddressOf(config),
    base_urls: baseUrlsOf(config),
    languages: [...languages],
    features: {
      sign_up: config.signUp,
      mail: mailer !== null,
      demo: demonstration !== undefined && config.demo !== false,
      set_up_needed: !isRun,
    },
  }
}

async function personView({ house: { db } }: ConsoleDesk, { person }: SignedIn): Promise<Person> {
  const [passkeys, left] = await Promise.all([listPasskeys(db, person.id), recoveryCodesLeft(db, person.id)])
  return {
    id: person.id,
    email: person.email,
    name: person.name,
    role: person.role,
    language: person.language,
    email_verified: person.emailVerifiedAt !== null,
    totp: person.hasTotp,
    passkeys: passkeys.length,
    recovery_codes_left: left,
    created_at: timeOf(person.createdAt),
  }
}

function accountView({ house }: ConsoleDesk, signedIn: SignedIn): Session['account'] {
  const account = house.directory.account(accountIdOf(signedIn) ?? '')
  if (account === undefined) return null
  const { id, email, name, tier, status, timezone } = account
  return { id, email, name, tier, status, timezone }
}

export async function sessionView(desk: ConsoleDesk, signedIn: SignedIn | null): Promise<Session> {
  const platform = await platformView(desk)
  if (signedIn === null) return { person: null, account: null, acting: false, session: null, platform }
  const { session } = signedIn
  return {
    person: await personView(desk, signedIn),
    account: accountView(desk, signedIn),
    acting: session.actingAccount !== null,
    session: { id: session.id, created_at: timeOf(session.createdAt), expires_at: timeOf(session.expiresAt) },
    platform,
  }
}

/** The session as every page of the console loads it: user, account, platform. */
import { getSetting } from '../../../db/settings.ts'
import { hasOperator, languages } from '../../../users/users.ts'
import { listPasskeys } from '../../../users/passkeys.ts'
import { countRecoveryCodes } from '../../../users/two-factor.ts'
import type { SignedInUser } from '../../../users/sessions.ts'
import { currency } from '../../../usage/request-records.ts'
import { configuredBaseUrls } from '../../public-urls.ts'
import { formatTime } from '../../api/json-values.ts'
import type { SessionUser, Platform, Session } from '../contract/auth.ts'
import { getActiveAccountId, type ConsoleDeps } from '../context.ts'

async function serializePlatform({ ctx, emailSender }: ConsoleDeps): Promise<Platform> {
  const { config, db, version } = ctx
  const [hasOperatorAccount, demoStartedAt] = await Promise.all([
    hasOperator(db),
    getSetting(db, 'demo_begun'),
  ])
  return {
    version,
    currency,
    public_url: config.publicUrl,
    base_urls: configuredBaseUrls(config),
    languages: [...languages],
    features: {
      sign_up: config.signUp,
      mail: emailSender !== null,
      demo: demoStartedAt !== undefined && config.demo !== false,
      set_up_needed: !hasOperatorAccount,
    },
  }
}

async function serializeUser({ ctx: { db } }: ConsoleDeps, { user }: SignedInUser): Promise<SessionUser> {
  const [passkeys, left] = await Promise.all([listPasskeys(db, user.id), countRecoveryCodes(db, user.id)])
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    role: user.role,
    language: user.language,
    email_verified: user.emailVerifiedAt !== null,
    totp: user.hasTotp,
    passkeys: passkeys.length,
    recovery_codes_left: left,
    created_at: formatTime(user.createdAt),
  }
}

function serializeAccount({ ctx }: ConsoleDeps, signedIn: SignedInUser): Session['account'] {
  const account = ctx.directory.account(getActiveAccountId(signedIn) ?? '')
  if (account === undefined) return null
  const { id, email, name, tier, status, timezone } = account
  return { id, email, name, tier, status, timezone }
}

export async function serializeSession(deps: ConsoleDeps, signedIn: SignedInUser | null): Promise<Session> {
  const platform = await serializePlatform(deps)
  if (signedIn === null) return { person: null, account: null, acting: false, session: null, platform }
  const { session } = signedIn
  return {
    person: await serializeUser(deps, signedIn),
    account: serializeAccount(deps, signedIn),
    acting: session.impersonatedAccount !== null,
    session: {
      id: session.id,
      created_at: formatTime(session.createdAt),
      expires_at: formatTime(session.expiresAt),
    },
    platform,
  }
}

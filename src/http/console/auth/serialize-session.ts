/** The session as every page of the console loads it: user, account, platform. */
import { z } from 'zod'
import { getSetting } from '../../../db/settings.ts'
import { hasOperator, languages } from '../../../users/users.ts'
import { listPasskeys } from '../../../users/passkeys.ts'
import { countRecoveryCodes } from '../../../users/two-factor.ts'
import type { SignedInUser } from '../../../users/sessions.ts'
import { configuredBaseUrls } from '../../public-urls.ts'
import { publicBranding, publicBrandingSchema } from '../../api/branding.ts'
import { language, time } from '../../api/json-schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { getActiveAccountId } from './authorize.ts'
import type { ConsoleDeps } from '../context.ts'

const userSchema = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  role: z.enum(['customer', 'operator']),
  language,
  email_verified: z.boolean(),
  /** Sign-in requires a code of an authenticator app. */
  totp: z.boolean(),
  passkeys: z.int(),
  recovery_codes_left: z.int(),
  created_at: time,
})

/** This deployment and its features; the same for every user. */
const platformSchema = z.object({
  version: z.string(),
  /** ISO 4217. */
  currency: z.string(),
  /** null: not configured; the browser knows the address better than the server. */
  public_url: z.string().nullable(),
  /** The base URLs for API clients, including `/v1`; empty: none configured. */
  base_urls: z.array(z.string()),
  languages: z.array(language),
  branding: publicBrandingSchema,
  features: z.object({
    /** Who can sign up: anyone, those with an invite code, or nobody. */
    sign_up: z.enum(['open', 'invite', 'closed']),
    /** E-mail is configured: addresses are verified and passwords are reset by e-mail, otherwise by an operator's link. */
    mail: z.boolean(),
    /** Demonstration mode: the upstream responds with fixed text. */
    demo: z.boolean(),
    /** No operator is set up yet: the relay created a set-up link when it started. */
    set_up_needed: z.boolean(),
  }),
})

export const sessionSchema = z.object({
  /** null: not signed in. */
  person: userSchema.nullable(),
  /** The account whose pages these are: the user's own, or the one that an operator impersonates. */
  account: z
    .object({
      id: z.string(),
      email: z.string(),
      name: z.string(),
      tier: z.string(),
      status: z.enum(['active', 'suspended']),
      timezone: z.string(),
    })
    .nullable(),
  /** An operator impersonates this account. Must be visible on every page. */
  acting: z.boolean(),
  session: z.object({ id: z.string(), created_at: time, expires_at: time }).nullable(),
  platform: platformSchema,
})

export type Session = z.infer<typeof sessionSchema>
export type SessionUser = z.infer<typeof userSchema>
export type Platform = z.infer<typeof platformSchema>

async function serializePlatform({ ctx, emailSender }: ConsoleDeps): Promise<Platform> {
  const { config, currency, db, version } = ctx
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
    branding: publicBranding(ctx.branding.current),
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

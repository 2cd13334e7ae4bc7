/**
 * Sign-up, with a verified e-mail address if e-mail is configured; and the set-up of an operator by one-time link. The
 * account is created only after verification, so nobody can take an address of somebody else.
 */
import { z } from 'zod'
import { accountByEmail, createAccount } from '../../../accounts/accounts.ts'
import { cleanEmail, cleanName, cleanTimezone, type EmailAddress } from '../../../accounts/fields.ts'
import { apiError } from '../../../errors.ts'
import { checkInvite, redeemInviteStatement } from '../../../users/invites.ts'
import { renderEmail } from '../../../users/emails.ts'
import { checkNewPassword } from '../../../users/password.ts'
import {
  emailTaken,
  buildUser,
  usersOfAccount,
  userByEmail,
  type Language,
  type User,
  type UserInput,
} from '../../../users/users.ts'
import {
  issueOneTimeToken,
  rejectIfConsumed,
  consumeOneTimeToken,
  consumeTokenStatement,
  revokeTokensStatement,
} from '../../../users/one-time-tokens.ts'
import type { Query } from '../../../db/db.ts'
import { isUniqueViolation, isExpectationFailure } from '../../../db/store-error.ts'
import { areReferralsOn, referrerOf } from '../../../payments/referral-codes.ts'
import { insertReferral } from '../../../payments/referrals.ts'
import { grantTrialCredit } from '../../api/trial-credit.ts'
import { publicUrlOf, consoleLink } from '../../public-urls.ts'
import { checkOperatorLink } from '../../../users/access-links.ts'
import { emailInput, language, passwordInput } from '../../api/json-schemas.ts'
import { sendEmail, anyone, type ConsoleContext, type ContextWithBody } from '../context.ts'
import { signedInResponse, startSession, tokenInput } from './sign-in.ts'

const userFields = {
  email: emailInput,
  password: passwordInput,
  name: z.string().max(200).default(''),
  language: language.default('en'),
}
const signUpBody = z.strictObject({
  ...userFields,
  timezone: z.string().max(100).optional(),
  /** An invite code; required if `features.sign_up` is `invite`. */
  invite: z.string().max(100).optional(),
  /** A promotion code. Without one, a running promotion that requires no code applies. */
  promotion: z.string().max(100).optional(),
  /** The code of the account that has invited. It opens no sign-up; one that is not known is ignored. */
  referral: z.string().max(100).optional(),
})
const setUpBody = z.strictObject({ token: tokenInput, ...userFields })

/** A sign-up, stored in the one-time token until the address is verified. */
interface SignUpRequest {
  readonly email: string
  readonly name: string
  readonly language: Language
  readonly passwordHash: string
  readonly timezone: string | null
  readonly invite: string | null
  readonly promotion: string | null
  /** Absent in tokens of earlier releases. */
  readonly referral?: string | null
}

type SignUpContext = ContextWithBody<typeof signUpBody>

function toUserInput(
  request: SignUpRequest,
  { email, normalised }: EmailAddress,
  isVerified: boolean,
): UserInput {
  const { name, language, passwordHash } = request
  return { email, normalised, name, role: 'customer', accountId: null, language, passwordHash, isVerified }
}

/** Creates the account with its user. An existing account without a user goes to the verified owner of its address. */
async function createUserWithAccount(
  context: ConsoleContext,
  request: SignUpRequest,
  isVerified: boolean,
): Promise<User> {
  const { ctx } = context
  const { db } = ctx
  const { invite, name, timezone } = request
  const address = cleanEmail(request.email)
  const input = toUserInput(request, address, isVerified)
  const by = `customer:${address.email}`
  const inviteStatements = invite === null ? [] : [redeemInviteStatement(invite)]
  const existing = await accountByEmail(db, address.email)
  if (existing !== undefined) {
    if (!isVerified || (await usersOfAccount(db, existing.id)).length > 0) throw emailTaken()
    const { user, statements } = buildUser({ ...input, accountId: existing.id }, by)
    await db.write(...statements, ...inviteStatements)
    return user
  }
  const referrer = await findReferrer(context, request)
  let created: User | undefined
  const account = { email: address.email, name, timezone: timezone ?? ctx.config.timezone }
  const { changes } = await createAccount(db, account, by, (accountId) => {
    const { user, statements } = buildUser({ ...input, accountId }, by)
    created = user
    return [...statements, ...inviteStatements, ...referralStatements(referrer, accountId)]
  })
  await ctx.publishChanges(changes)
  if (created === undefined) throw new Error('The account was created without its user.')
  return created
}

async function findReferrer(
  { ctx: { config, db } }: ConsoleContext,
  { referral }: SignUpRequest,
): Promise<string | undefined> {
  if (!areReferralsOn(config) || referral === undefined || referral === null) return undefined
  return referrerOf(db, referral)
}

function referralStatements(referrer: string | undefined, invited: string): Query[] {
  return referrer === undefined ? [] : [insertReferral({ referrer, invited }, Date.now())]
}

/**
 * Creates user and account, and reports conflicts with concurrent sign-ups. Trial credit needs a verified address or an
 * invite: anybody can make up addresses.
 */
async function completeSignUp(
  context: ConsoleContext,
  request: SignUpRequest,
  isVerified: boolean,
): Promise<User> {
  try {
    const user = await createUserWithAccount(context, request, isVerified)
    const { accountId: account, email } = user
    if (account !== null && (isVerified || request.invite !== null)) {
      await grantTrialCredit(context.ctx, { account, email, promotion: request.promotion ?? undefined })
    }
    return user
  } catch (error) {
    if (isUniqueViolation(error, 'persons.email_normalised')) throw emailTaken()
    // The only expectation of the batch that can fail is the use of the invite.
    throw isExpectationFailure(error) ? apiError('invite_invalid', { param: 'invite' }) : error
  }
}

async function toSignUpRequest(context: SignUpContext): Promise<SignUpRequest> {
  const { body, ctx } = context
  const { signUp } = ctx.config
  if (signUp === 'closed') throw apiError('sign_up_closed')
  const { email } = cleanEmail(body.email)
  checkNewPassword(body.password, email)
  const timezone = body.timezone === undefined ? null : cleanTimezone(body.timezone)
  const name = cleanName(body.name)
  if (signUp === 'invite') await checkInvite(ctx.db, body.invite)
  const passwordHash = await ctx.authThrottle.hashOfPassword(body.password)
  const invite = signUp === 'invite' ? (body.invite ?? null) : null
  const { language, promotion = null, referral = null } = body
  return { email, name, language, passwordHash, timezone, invite, promotion, referral }
}

async function signUp(context: SignUpContext) {
  const { ctx, deps, body } = context
  await ctx.authThrottle.count('sign-up-address', { address: context.address })
  const request = await toSignUpRequest(context)
  if (deps.emailSender === null)
    return startSession(context, await completeSignUp(context, request, false), 'sign-up')
  const { normalised } = cleanEmail(request.email)
  await ctx.authThrottle.count('mail-email', { id: normalised })
  const existing = await userByEmail(ctx.db, normalised)
  const { token } = await issueOneTimeToken(ctx.db, { kind: 'verify-email', detail: request })
  const language = existing?.language ?? body.language
  const email =
    existing === undefined
      ? renderEmail('verify-email', language, consoleLink(ctx.config, 'verify-email', token))
      : renderEmail('known-email', language, `${publicUrlOf(ctx.config)}/console/`)
  sendEmail(deps, { to: request.email, ...email }, language)
  return { status: 'verify_email' as const }
}

async function setUp(context: ContextWithBody<typeof setUpBody>) {
  const { ctx, body } = context
  const { db, authThrottle } = ctx
  await authThrottle.count('link-address', { address: context.address })
  await checkOperatorLink(db, body.token)
  const { email, normalised } = cleanEmail(body.email)
  checkNewPassword(body.password, email)
  const name = cleanName(body.name)
  const passwordHash = await authThrottle.hashOfPassword(body.password)
  const { language } = body
  const details = { email, normalised, name, language, passwordHash, isVerified: false }
  const { user, statements } = buildUser({ ...details, role: 'operator', accountId: null })
  try {
    await rejectIfConsumed(
      db.write(consumeTokenStatement(body.token), revokeTokensStatement('set-up'), ...statements),
    )
  } catch (error) {
    throw isUniqueViolation(error, 'persons.email_normalised') ? emailTaken() : error
  }
  return startSession(context, user, 'set-up')
}

/** Links carry their token after `#`, which browsers do not send to servers: `/set-up#…`, `/verify-email#…`. */
export const signUpEndpoints = {
  /** `verify_email`: a link was sent by e-mail. The response does not reveal whether the address is known. */
  signUp: anyone.post('/sign-up', {
    body: signUpBody,
    response: z.discriminatedUnion('status', [
      signedInResponse,
      z.object({ status: z.literal('verify_email') }),
    ]),
    handle: signUp,
  }),
  verifyEmail: anyone.post('/verify-email', {
    body: z.strictObject({ token: tokenInput }),
    response: signedInResponse,
    handle: async (context) => {
      const { ctx, body } = context
      await ctx.authThrottle.count('link-address', { address: context.address })
      const { detail } = await consumeOneTimeToken(ctx.db, body.token, 'verify-email')
      const user = await completeSignUp(context, detail as object as SignUpRequest, true)
      return startSession(context, user, 'sign-up')
    },
  }),
  /** Creates the operator of a set-up link. */
  setUp: anyone.post('/set-up', {
    body: setUpBody,
    response: signedInResponse,
    handle: setUp,
  }),
}

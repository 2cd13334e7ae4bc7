/**
 * `/people`, `/invites` and the one-time links for users: who can sign in to the console. Operators pass the links on
 * and never see a password.
 */
import { z } from '@hono/zod-openapi'
import { fieldColumns } from '../../csv-export.ts'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin, confirmationRule, requireConfirmation } from '../admin-context.ts'
import { idCursor } from '../../api/pagination.ts'
import { accountById } from '../../../accounts/accounts.ts'
import { cleanEmail } from '../../../accounts/fields.ts'
import type { Db } from '../../../db/db.ts'
import { apiError } from '../../../errors.ts'
import { createInvite, deleteInvite, listInvites, type Invite } from '../../../users/invites.ts'
import { listUsers, updateUser, createUser, usersOfAccount, type User } from '../../../users/users.ts'
import { deleteSessionsStatement } from '../../../users/sessions.ts'
import type { IssuedToken } from '../../../users/one-time-tokens.ts'
import { createAccessLink, requireUser, createOperatorLink } from '../../../users/access-links.ts'
import { consoleLink } from '../../public-urls.ts'
import { returnedOnce, time, timeInput } from '../schemas.ts'
import { parseTime } from '../../api/json-values.ts'

const role = z.enum(['customer', 'operator'])
export const userSchema = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    role,
    account: z.string().nullable(),
    disabled: z.boolean(),
    two_factor: z.boolean().meta({ description: 'Sign-in requires a code of an authenticator app.' }),
    email_verified: z.boolean(),
    last_sign_in_at: time.nullable(),
    created_at: time,
  })
  .openapi('Person')
export const linkSchema = z
  .object({ url: z.string().meta({ description: 'Can be used once.' }), expires_at: time })
  .openapi('Link')
export const inviteSchema = z
  .object({
    id: z.string(),
    note: z.string(),
    uses_left: z.int(),
    expires_at: time.nullable(),
    created_at: time,
  })
  .openapi('Invite')

const userView = view('user', userSchema, (user: User) => ({
  ...jsonFields(user),
  account: user.accountId,
  disabled: user.disabledAt !== null,
  two_factor: user.hasTotp,
  email_verified: user.emailVerifiedAt !== null,
}))

const inviteView = view('invite', inviteSchema, (invite: Invite) => jsonFields(invite))

type ConsoleLink = IssuedToken & { readonly page: 'set-up' | 'reset-password' }
const linkView = view('link', linkSchema, ({ page, token, expiresAt }: ConsoleLink, { config }) => ({
  url: consoleLink(config, page, token),
  ...jsonFields({ expiresAt }),
}))
const newLink = { response: linkView, returns: 'The link; earlier links are void.' }

/** Creates a link for the user of an account; creates the user with the account's address if there is none. */
export async function createAccountAccessLink(db: Db, accountId: string, by: string): Promise<IssuedToken> {
  const account = await accountById(db, accountId)
  if (account === undefined) throw apiError('not_found', { message: 'Account not found.' })
  const [existing] = await usersOfAccount(db, accountId)
  const { email, name } = account
  const { normalised } = cleanEmail(email)
  const input = { email, normalised, name, role: 'customer' as const, accountId, passwordHash: null }
  const user = existing ?? (await createUser(db, { ...input, language: 'en', isVerified: false }, by))
  return createAccessLink(db, user, { forgetSecondFactor: false, by })
}

export const userEndpoints = [
  admin.page('/people', {
    summary: 'List console users, newest first',
    item: userView,
    filters: { account: z.string().optional(), role: role.optional() },
    cursor: idCursor,
    csv: fieldColumns(userSchema),
    handle: ({ ctx, query: { account, role: roleFilter }, page }) =>
      listUsers(ctx.db, { ...page, account, role: roleFilter }),
  }),
  admin.patch('/people/{id}', {
    summary: 'Disable a user and end all sessions, or enable the user again',
    body: z.strictObject({ disabled: z.boolean() }),
    response: userView,
    handle({ ctx, by, params: { id }, body: { disabled: isDisabled } }) {
      const extraStatements = isDisabled ? [deleteSessionsStatement(id)] : []
      return updateUser(ctx.db, id, { isDisabled }, { by, extraStatements })
    },
  }),
  admin.create('/people/{id}/access-link', {
    summary: 'Create a one-time link for a user to set a new password',
    description: `It ${confirmationRule}`,
    body: z.strictObject({
      forget_second_factor: z.boolean().default(false).meta({
        description: 'Also removes the authenticator app and all passkeys, for a user who has lost them.',
      }),
    }),
    ...newLink,
    async handle(context) {
      const { ctx, by, params, body } = context
      const user = await requireUser(ctx.db, params.id)
      await requireConfirmation(context)
      const options = { forgetSecondFactor: body.forget_second_factor, by }
      return { page: 'reset-password' as const, ...(await createAccessLink(ctx.db, user, options)) }
    },
  }),
  admin.create('/accounts/{id}/access-link', {
    summary:
      'Create a one-time link for the user of an account to set a password; creates the user if there is none',
    description: `It ${confirmationRule}`,
    ...newLink,
    async handle(context) {
      const { ctx, by, params } = context
      await requireConfirmation(context)
      return { page: 'reset-password' as const, ...(await createAccountAccessLink(ctx.db, params.id, by)) }
    },
  }),
  admin.create('/operators/link', {
    summary: 'Create a one-time link to add another operator',
    description: `It ${confirmationRule}`,
    ...newLink,
    async handle(context) {
      await requireConfirmation(context)
      return { page: 'set-up' as const, ...(await createOperatorLink(context.ctx.db, context.by)) }
    },
  }),
  admin.page('/invites', {
    summary: 'List invites, newest first, without their codes',
    item: inviteView,
    cursor: idCursor,
    csv: fieldColumns(inviteSchema),
    handle: ({ ctx, page }) => listInvites(ctx.db, page),
  }),
  admin.create('/invites', {
    summary: 'Create an invite code',
    body: z.strictObject({
      note: z.string().max(200).default(''),
      uses: z.int().min(1).max(10_000).default(1),
      expires_at: timeInput.nullish(),
    }),
    response: z.object({ id: z.string(), code: z.string() }).openapi('NewInvite'),
    returns: `The code. ${returnedOnce}`,
    handle: ({ ctx, by, body: { note, uses, expires_at: expires } }) =>
      createInvite(ctx.db, { note, uses, expiresAt: parseTime(expires) ?? null }, by),
  }),
  admin.delete('/invites/{id}', {
    summary: 'Delete an invite',
    handle: ({ ctx, by, params }) => deleteInvite(ctx.db, params.id, by),
  }),
]

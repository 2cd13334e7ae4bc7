/**
 * `/people`, `/invites` and the one-time links for users: who can sign in to the console. Operators pass the links on
 * and never see a password.
 */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { accountById } from '../../../accounts/accounts.ts'
import { cleanEmail } from '../../../accounts/fields.ts'
import type { Db } from '../../../db/db.ts'
import { apiError } from '../../../errors.ts'
import { createInvite, deleteInvite, listInvites } from '../../../users/invites.ts'
import { listUsers, updateUser, type User, createUser, usersOfAccount } from '../../../users/users.ts'
import { deleteSessionsStatement } from '../../../users/sessions.ts'
import type { IssuedToken } from '../../../users/one-time-tokens.ts'
import { createAccessLink, requireUser, createOperatorLink } from '../../../users/access-links.ts'
import { consoleLink } from '../../public-urls.ts'
import { confirmationRule, requireConfirmation, type AdminContext } from '../admin-context.ts'
import {
  jsonBody,
  createdResponse,
  deletedSchema,
  idParams,
  listResponse,
  okResponse,
  returnedOnce,
  time,
  timeInput,
} from '../schemas.ts'
import { pageFields } from '../../api/pagination.ts'
import { decodeCursor, encodeCursor, parseTime, formatTime } from '../../api/json-values.ts'

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

function serializeUser(user: User): z.infer<typeof userSchema> {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    role: user.role,
    account: user.accountId,
    disabled: user.disabledAt !== null,
    two_factor: user.hasTotp,
    email_verified: user.emailVerifiedAt !== null,
    last_sign_in_at: formatTime(user.lastSignInAt),
    created_at: formatTime(user.createdAt),
  }
}

const list = createRoute({
  method: 'get',
  path: '/people',
  summary: 'List console users, newest first',
  request: {
    query: z.strictObject({ ...pageFields, account: z.string().optional(), role: role.optional() }),
  },
  responses: listResponse(userSchema, 'A page of users.'),
})
const update = createRoute({
  method: 'patch',
  path: '/people/{id}',
  summary: 'Disable a user and end all sessions, or enable the user again',
  request: { params: idParams, body: jsonBody(z.strictObject({ disabled: z.boolean() })) },
  responses: okResponse(userSchema, 'The updated user.'),
})
const createUserLink = createRoute({
  method: 'post',
  path: '/people/{id}/access-link',
  summary: 'Create a one-time link for a user to set a new password',
  description: `A link for an operator ${confirmationRule}`,
  request: {
    params: idParams,
    body: jsonBody(
      z.strictObject({
        forget_second_factor: z.boolean().default(false).meta({
          description: 'Also removes the authenticator app and all passkeys, for a user who has lost them.',
        }),
      }),
    ),
  },
  responses: createdResponse(linkSchema, 'The link; earlier links are void.'),
})
const createAccountLink = createRoute({
  method: 'post',
  path: '/accounts/{id}/access-link',
  summary:
    'Create a one-time link for the user of an account to set a password; creates the user if there is none',
  request: { params: idParams },
  responses: createdResponse(linkSchema, 'The link; earlier links are void.'),
})
const createOperatorLinkRoute = createRoute({
  method: 'post',
  path: '/operators/link',
  summary: 'Create a one-time link to add another operator',
  description: `It ${confirmationRule}`,
  responses: createdResponse(linkSchema, 'The link; earlier links are void.'),
})
const listInvitesRoute = createRoute({
  method: 'get',
  path: '/invites',
  summary: 'List invites, newest first, without their codes',
  request: { query: z.strictObject(pageFields) },
  responses: listResponse(inviteSchema, 'A page of invites.'),
})
const createInviteRoute = createRoute({
  method: 'post',
  path: '/invites',
  summary: 'Create an invite code',
  request: {
    body: jsonBody(
      z.strictObject({
        note: z.string().max(200).default(''),
        uses: z.int().min(1).max(10_000).default(1),
        expires_at: timeInput.nullish(),
      }),
    ),
  },
  responses: createdResponse(
    z.object({ id: z.string(), code: z.string() }).openapi('NewInvite'),
    `The code. ${returnedOnce}`,
  ),
})
const deleteInviteRoute = createRoute({
  method: 'delete',
  path: '/invites/{id}',
  summary: 'Delete an invite',
  request: { params: idParams },
  responses: okResponse(deletedSchema, 'Deleted.'),
})

const idCursor = /^\w{1,60}$/

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

export function userRoutes(admin: AdminContext): OpenAPIHono {
  const { ctx, by } = admin
  const { db, config } = ctx

  function serializeLink(
    page: 'set-up' | 'reset-password',
    { token, expiresAt }: IssuedToken,
  ): z.infer<typeof linkSchema> {
    return { url: consoleLink(config, page, token), expires_at: formatTime(expiresAt) }
  }

  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { cursor, ...rest } = c.req.valid('query')
    const { data, next } = await listUsers(db, { ...rest, cursor: decodeCursor(cursor, idCursor) })
    return c.json({ data: data.map(serializeUser), next: encodeCursor(next) }, 200)
  })
  app.openapi(update, async (c) => {
    const { id } = c.req.valid('param')
    const isDisabled = c.req.valid('json').disabled
    const extraStatements = isDisabled ? [deleteSessionsStatement(id)] : []
    return c.json(serializeUser(await updateUser(db, id, { isDisabled }, { by, extraStatements })), 200)
  })
  app.openapi(createUserLink, async (c) => {
    const user = await requireUser(db, c.req.valid('param').id)
    if (user.role === 'operator') await requireConfirmation(admin)
    const forgetSecondFactor = c.req.valid('json').forget_second_factor
    return c.json(
      serializeLink('reset-password', await createAccessLink(db, user, { forgetSecondFactor, by })),
      201,
    )
  })
  app.openapi(createAccountLink, async (c) => {
    const link = await createAccountAccessLink(db, c.req.valid('param').id, by)
    return c.json(serializeLink('reset-password', link), 201)
  })
  app.openapi(createOperatorLinkRoute, async (c) => {
    await requireConfirmation(admin)
    return c.json(serializeLink('set-up', await createOperatorLink(db, by)), 201)
  })
  app.openapi(listInvitesRoute, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const { data, next } = await listInvites(db, { limit, cursor: decodeCursor(cursor, idCursor) })
    const invites = data.map((invite) => ({
      id: invite.id,
      note: invite.note,
      uses_left: invite.usesLeft,
      expires_at: formatTime(invite.expiresAt),
      created_at: formatTime(invite.createdAt),
    }))
    return c.json({ data: invites, next: encodeCursor(next) }, 200)
  })
  app.openapi(createInviteRoute, async (c) => {
    const { note, uses, expires_at: expires } = c.req.valid('json')
    return c.json(await createInvite(db, { note, uses, expiresAt: parseTime(expires) ?? null }, by), 201)
  })
  app.openapi(deleteInviteRoute, async (c) => {
    const { id } = c.req.valid('param')
    await deleteInvite(db, id, by)
    return c.json({ id, deleted: true as const }, 200)
  })
  return app
}

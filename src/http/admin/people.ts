/**
 * `/people`, `/invites` and the links by which people come in: who may sign in to the console. Operators hand the links
 * over; passwords are nobody's but their owners'.
 */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { createInvite, deleteInvite, listInvites } from '../../users/invites.ts'
import { listPeople, updatePerson, type Person } from '../../users/users.ts'
import { endingSessions } from '../../users/sessions.ts'
import type { NewTicket } from '../../people/tickets.ts'
import { accessLinkFor, accessLinkForAccount, knownPerson, operatorLink } from '../console/access-links.ts'
import { linkTo } from '../public-urls.ts'
import type { Desk } from './desk.ts'
import {
  bodyOf,
  createdAnswer,
  gone,
  idPath,
  listAnswer,
  msOf,
  okAnswer,
  openedCursor,
  pageFields,
  sealedCursor,
  time,
  timeIn,
  timeOf,
} from './schemas.ts'

const role = z.enum(['customer', 'operator'])
export const personOut = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    role,
    account: z.string().nullable(),
    disabled: z.boolean(),
    two_factor: z.boolean().meta({ description: 'An authenticator app is asked for.' }),
    email_verified: z.boolean(),
    last_sign_in_at: time.nullable(),
    created_at: time,
  })
  .openapi('Person')
export const linkOut = z
  .object({ url: z.string().meta({ description: 'Opens once.' }), expires_at: time })
  .openapi('Link')
export const inviteOut = z
  .object({
    id: z.string(),
    note: z.string(),
    uses_left: z.int(),
    expires_at: time.nullable(),
    created_at: time,
  })
  .openapi('Invite')

function personView(person: Person): z.infer<typeof personOut> {
  return {
    id: person.id,
    email: person.email,
    name: person.name,
    role: person.role,
    account: person.accountId,
    disabled: person.disabledAt !== null,
    two_factor: person.hasTotp,
    email_verified: person.emailVerifiedAt !== null,
    last_sign_in_at: timeOf(person.lastSignInAt),
    created_at: timeOf(person.createdAt),
  }
}

const list = createRoute({
  method: 'get',
  path: '/people',
  summary: 'List who may sign in to the console, newest first',
  request: {
    query: z.strictObject({ ...pageFields, account: z.string().optional(), role: role.optional() }),
  },
  responses: listAnswer(personOut, 'A page of people.'),
})
const change = createRoute({
  method: 'patch',
  path: '/people/{id}',
  summary: 'Shut the door to a person and end the sessions, or open it again',
  request: { params: idPath, body: bodyOf(z.strictObject({ disabled: z.boolean() })) },
  responses: okAnswer(personOut, 'The person as it is now.'),
})
const accessLink = createRoute({
  method: 'post',
  path: '/people/{id}/access-link',
  summary: 'Make a link by which a person sets a new password',
  request: {
    params: idPath,
    body: bodyOf(
      z.strictObject({
        forget_second_factor: z
          .boolean()
          .default(false)
          .meta({ description: 'For whoever has lost the app or the device: passkeys go as well.' }),
      }),
    ),
  },
  responses: createdAnswer(linkOut, 'The link; those made before are void.'),
})
const accountLink = createRoute({
  method: 'post',
  path: '/accounts/{id}/access-link',
  summary:
    'Make a link by which an account’s person sets a password, and make the person where there is none',
  request: { params: idPath },
  responses: createdAnswer(linkOut, 'The link; those made before are void.'),
})
const newOperatorLink = createRoute({
  method: 'post',
  path: '/operators/link',
  summary: 'Make a link by which one more operator comes in',
  responses: createdAnswer(linkOut, 'The link; those made before are void.'),
})
const invites = createRoute({
  method: 'get',
  path: '/invites',
  summary: 'List invites, newest first, without their codes',
  request: { query: z.strictObject(pageFields) },
  responses: listAnswer(inviteOut, 'A page of invites.'),
})
const invite = createRoute({
  method: 'post',
  path: '/invites',
  summary: 'Make an invite code',
  request: {
    body: bodyOf(
      z.strictObject({
        note: z.string().max(200).default(''),
        uses: z.int().min(1).max(10_000).default(1),
        expires_at: timeIn.nullish(),
      }),
    ),
  },
  responses: createdAnswer(
    z.object({ id: z.string(), code: z.string() }).openapi('NewInvite'),
    'The code; only here, only now.',
  ),
})
const endInvite = createRoute({
  method: 'delete',
  path: '/invites/{id}',
  summary: 'End an invite',
  request: { params: idPath },
  responses: okAnswer(gone, 'It is gone.'),
})

const idCursor = /^\w{1,60}$/

export function peopleRoutes({ house, by }: Desk): OpenAPIHono {
  const { db, config } = house

  function linkView(
    page: 'set-up' | 'reset-password',
    { token, expiresAt }: NewTicket,
  ): z.infer<typeof linkOut> {
    return { url: linkTo(config, page, token), expires_at: timeOf(expiresAt) }
  }

  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const { cursor, ...rest } = c.req.valid('query')
    const { data, next } = await listPeople(db, { ...rest, cursor: openedCursor(cursor, idCursor) })
    return c.json({ data: data.map(personView), next: sealedCursor(next) }, 200)
  })
  app.openapi(change, async (c) => {
    const { id } = c.req.valid('param')
    const isDisabled = c.req.valid('json').disabled
    const also = isDisabled ? [endingSessions(id)] : []
    return c.json(personView(await updatePerson(db, id, { isDisabled }, { by, also })), 200)
  })
  app.openapi(accessLink, async (c) => {
    const person = await knownPerson(db, c.req.valid('param').id)
    const forgetSecondFactor = c.req.valid('json').forget_second_factor
    return c.json(
      linkView('reset-password', await accessLinkFor(db, person, { forgetSecondFactor, by })),
      201,
    )
  })
  app.openapi(accountLink, async (c) => {
    const link = await accessLinkForAccount(db, c.req.valid('param').id, by)
    return c.json(linkView('reset-password', link), 201)
  })
  app.openapi(newOperatorLink, async (c) => c.json(linkView('set-up', await operatorLink(db, by)), 201))
  app.openapi(invites, async (c) => {
    const { limit, cursor } = c.req.valid('query')
    const { data, next } = await listInvites(db, { limit, cursor: openedCursor(cursor, idCursor) })
    const views = data.map((each) => ({
      id: each.id,
      note: each.note,
      uses_left: each.usesLeft,
      expires_at: timeOf(each.expiresAt),
      created_at: timeOf(each.createdAt),
    }))
    return c.json({ data: views, next: sealedCursor(next) }, 200)
  })
  app.openapi(invite, async (c) => {
    const { note, uses, expires_at: expires } = c.req.valid('json')
    return c.json(await createInvite(db, { note, uses, expiresAt: msOf(expires) ?? null }, by), 201)
  })
  app.openapi(endInvite, async (c) => {
    const { id } = c.req.valid('param')
    await deleteInvite(db, id, by)
    return c.json({ id, deleted: true as const }, 200)
  })
  return app
}

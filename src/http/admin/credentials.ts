/** `/upstreams/{id}/credentials`: further credentials of an upstream, which go in and never come out. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  addCredential,
  deleteCredential,
  listCredentials,
  mainCredential,
  updateCredential,
  type Credential,
  type CredentialRules,
} from '../../catalog/credentials.ts'
import type { Upstream } from '../../catalog/upstreams.ts'
import { refuse } from '../../errors.ts'
import { announced, type Desk } from './desk.ts'
import { bodyOf, createdAnswer, gone, idPath, listAnswer, okAnswer, time, timeOf } from './schemas.ts'
import { shortListFields, shownOf } from './short-lists.ts'
import { knownUpstream } from './catalog/upstreams.ts'

const fields = {
  credential: z.string().optional(),
  label: z.string().optional().meta({ description: 'For people, to tell it from others.' }),
  weight: z
    .int()
    .optional()
    .meta({ description: 'Its share of the upstream’s requests; the upstream’s own has 1.' }),
  enabled: z.boolean().optional(),
}
const credentialPatch = z.strictObject(fields)
const credentialIn = z.strictObject({ ...fields, credential: z.string() })
export const credentialOut = z
  .object({
    id: z.string(),
    label: z.string(),
    last_four: z.string().nullable(),
    weight: z.int(),
    enabled: z.boolean(),
    created_at: time,
  })
  .openapi('UpstreamCredential')
const path = z.object({ id: z.string(), credential: z.string() })

function view(credential: Credential): z.infer<typeof credentialOut> {
  const { id, label, lastFour, weight, enabled, createdAt } = credential
  return { id, label, last_four: lastFour, weight, enabled, created_at: timeOf(createdAt) }
}

/** The upstream's own, as one of the list. */
function ownOf({ lastFour, createdAt }: Upstream): Credential {
  return { id: mainCredential, label: '', lastFour, weight: 1, enabled: true, createdAt }
}

const list = createRoute({
  method: 'get',
  path: '/upstreams/{id}/credentials',
  summary: 'List an upstream’s credentials, its own first; how each is doing is in /upstreams/health',
  request: { params: idPath, query: z.strictObject(shortListFields) },
  responses: listAnswer(credentialOut, 'All of them.'),
})
const add = createRoute({
  method: 'post',
  path: '/upstreams/{id}/credentials',
  summary: 'Add a credential; requests are spread over all of them',
  request: { params: idPath, body: bodyOf(credentialIn) },
  responses: createdAnswer(credentialOut, 'The credential, without its secret.'),
})
const update = createRoute({
  method: 'patch',
  path: '/upstreams/{id}/credentials/{credential}',
  summary: 'Change the fields given; `main` is the upstream’s own, changed with the upstream',
  request: { params: path, body: bodyOf(credentialPatch) },
  responses: okAnswer(credentialOut, 'The credential as it is now.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/upstreams/{id}/credentials/{credential}',
  summary: 'Remove a credential; calls under way finish',
  request: { params: path },
  responses: okAnswer(gone, 'It is gone.'),
})

export function credentialRoutes(desk: Desk): OpenAPIHono {
  const { db, sealer } = desk.house
  const rules: CredentialRules = { by: desk.by, sealer }

  async function at(given: z.infer<typeof path>): Promise<{ upstreamId: string; id: string }> {
    const { id } = await knownUpstream(desk, given.id)
    if (given.credential !== mainCredential) return { upstreamId: id, id: given.credential }
    throw refuse('conflict', {
      message: 'This is the upstream’s own credential: change it with the upstream’s field "credential".',
    })
  }

  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const upstream = await knownUpstream(desk, c.req.valid('param').id)
    const further = await listCredentials(db, upstream.id)
    const all = [ownOf(upstream), ...further].map(view)
    return c.json(
      shownOf(all, c.req.valid('query'), ({ id }) => id),
      200,
    )
  })
  app.openapi(add, async (c) => {
    const { id } = await knownUpstream(desk, c.req.valid('param').id)
    return c.json(view(await announced(desk, addCredential(db, id, c.req.valid('json'), rules))), 201)
  })
  app.openapi(update, async (c) => {
    const place = await at(c.req.valid('param'))
    return c.json(view(await announced(desk, updateCredential(db, place, c.req.valid('json'), rules))), 200)
  })
  app.openapi(remove, async (c) => {
    const place = await at(c.req.valid('param'))
    await announced(desk, deleteCredential(db, place, desk.by))
    return c.json({ id: place.id, deleted: true as const }, 200)
  })
  return app
}

/** `/upstreams/{id}/credentials`: additional credentials of an upstream. Responses never contain a secret. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import {
  addCredential,
  deleteCredential,
  listCredentials,
  mainCredentialId,
  updateCredential,
  type Credential,
  type CredentialContext,
} from '../../../catalog/credentials.ts'
import type { Upstream } from '../../../catalog/upstreams.ts'
import { apiError } from '../../../errors.ts'
import type { AdminContext } from '../admin-context.ts'
import { writeAndPublish } from '../../api/publish.ts'
import {
  jsonBody,
  createdResponse,
  deletedSchema,
  idParams,
  listResponse,
  okResponse,
  time,
} from '../schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { optionalPageFields, paginate } from '../../api/pagination.ts'
import { requireUpstream } from './upstreams.ts'

const fields = {
  credential: z.string().optional(),
  label: z.string().optional().meta({ description: 'A name for people to tell credentials apart.' }),
  weight: z
    .int()
    .optional()
    .meta({ description: 'Its share of the requests of the upstream. The main credential has weight 1.' }),
  enabled: z.boolean().optional(),
}
const credentialPatch = z.strictObject(fields)
const credentialInput = z.strictObject({ ...fields, credential: z.string() })
export const credentialSchema = z
  .object({
    id: z.string(),
    label: z.string(),
    last_four: z.string().nullable(),
    weight: z.int(),
    enabled: z.boolean(),
    created_at: time,
  })
  .openapi('UpstreamCredential')
const credentialParams = z.object({ id: z.string(), credential: z.string() })

function serializeCredential(credential: Credential): z.infer<typeof credentialSchema> {
  const { id, label, lastFour, weight, enabled, createdAt } = credential
  return { id, label, last_four: lastFour, weight, enabled, created_at: formatTime(createdAt) }
}

/** The upstream's own credential as an item of the list. */
function toMainCredential({ lastFour, createdAt }: Upstream): Credential {
  return { id: mainCredentialId, label: '', lastFour, weight: 1, enabled: true, createdAt }
}

const list = createRoute({
  method: 'get',
  path: '/upstreams/{id}/credentials',
  summary: 'List the credentials of an upstream, the main one first; see /upstreams/health for their state',
  request: { params: idParams, query: z.strictObject(optionalPageFields) },
  responses: listResponse(credentialSchema, 'All credentials.'),
})
const add = createRoute({
  method: 'post',
  path: '/upstreams/{id}/credentials',
  summary: 'Add a credential; requests are distributed over all of them',
  request: { params: idParams, body: jsonBody(credentialInput) },
  responses: createdResponse(credentialSchema, 'The credential, without its secret.'),
})
const update = createRoute({
  method: 'patch',
  path: '/upstreams/{id}/credentials/{credential}',
  summary: 'Update a credential; `main` is changed with the upstream',
  request: { params: credentialParams, body: jsonBody(credentialPatch) },
  responses: okResponse(credentialSchema, 'The updated credential.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/upstreams/{id}/credentials/{credential}',
  summary: 'Delete a credential; requests in progress finish',
  request: { params: credentialParams },
  responses: okResponse(deletedSchema, 'Deleted.'),
})

export function credentialRoutes(admin: AdminContext): OpenAPIHono {
  const { db, sealer } = admin.ctx
  const rules: CredentialContext = { by: admin.by, sealer }

  async function locate(
    params: z.infer<typeof credentialParams>,
  ): Promise<{ upstreamId: string; id: string }> {
    const { id } = await requireUpstream(admin, params.id)
    if (params.credential !== mainCredentialId) return { upstreamId: id, id: params.credential }
    throw apiError('conflict', {
      message:
        'This is the upstream’s own credential. Change it with the field "credential" of the upstream.',
    })
  }

  const app = new OpenAPIHono()
  app.openapi(list, async (c) => {
    const upstream = await requireUpstream(admin, c.req.valid('param').id)
    const further = await listCredentials(db, upstream.id)
    const all = [toMainCredential(upstream), ...further].map(serializeCredential)
    return c.json(
      paginate(all, c.req.valid('query'), ({ id }) => id),
      200,
    )
  })
  app.openapi(add, async (c) => {
    const { id } = await requireUpstream(admin, c.req.valid('param').id)
    return c.json(
      serializeCredential(await writeAndPublish(admin, addCredential(db, id, c.req.valid('json'), rules))),
      201,
    )
  })
  app.openapi(update, async (c) => {
    const location = await locate(c.req.valid('param'))
    return c.json(
      serializeCredential(
        await writeAndPublish(admin, updateCredential(db, location, c.req.valid('json'), rules)),
      ),
      200,
    )
  })
  app.openapi(remove, async (c) => {
    const location = await locate(c.req.valid('param'))
    await writeAndPublish(admin, deleteCredential(db, location, admin.by))
    return c.json({ id: location.id, deleted: true as const }, 200)
  })
  return app
}

/** `/upstreams/{id}/credentials`: additional credentials of an upstream. Responses never contain a secret. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import type { AppContext } from '../../app-context.ts'
import {
  addCredential,
  deleteCredential,
  listCredentials,
  mainCredentialId,
  updateCredential,
  type Credential,
} from '../../../catalog/credentials.ts'
import type { Upstream } from '../../../catalog/upstreams.ts'
import { apiError } from '../../../errors.ts'
import { time } from '../schemas.ts'
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
const credentialView = view('credential', credentialSchema, (credential: Credential) =>
  jsonFields(credential),
)

/** The upstream's own credential as an item of the list. */
function toMainCredential({ lastFour, createdAt }: Upstream): Credential {
  return { id: mainCredentialId, label: '', lastFour, weight: 1, enabled: true, createdAt }
}

/** Throws 409 for the upstream's own credential. */
async function locate(ctx: AppContext, params: { readonly id: string; readonly credential: string }) {
  const { id } = await requireUpstream(ctx, params.id)
  if (params.credential !== mainCredentialId) return { upstreamId: id, id: params.credential }
  throw apiError('conflict', {
    message: 'This is the upstream’s own credential. Change it with the field "credential" of the upstream.',
  })
}

export const credentialEndpoints = [
  admin.list('/upstreams/{id}/credentials', {
    summary: 'List the credentials of an upstream, the main one first; see /upstreams/health for their state',
    item: credentialView,
    idOf: ({ id }) => id,
    async handle({ ctx, params }) {
      const upstream = await requireUpstream(ctx, params.id)
      return [toMainCredential(upstream), ...(await listCredentials(ctx.db, upstream.id))]
    },
  }),
  admin.create('/upstreams/{id}/credentials', {
    summary: 'Add a credential; requests are distributed over all of them',
    body: credentialInput,
    response: credentialView,
    returns: 'The credential, without its secret.',
    async handle({ ctx, by, params, body, publish }) {
      const { id } = await requireUpstream(ctx, params.id)
      return publish(addCredential(ctx.db, id, body, { by, sealer: ctx.sealer }))
    },
  }),
  admin.patch('/upstreams/{id}/credentials/{credential}', {
    summary: 'Update a credential; `main` is changed with the upstream',
    body: credentialPatch,
    response: credentialView,
    handle: async ({ ctx, by, params, body, publish }) =>
      publish(updateCredential(ctx.db, await locate(ctx, params), body, { by, sealer: ctx.sealer })),
  }),
  admin.delete('/upstreams/{id}/credentials/{credential}', {
    summary: 'Delete a credential; requests in progress finish',
    handle: async ({ ctx, by, params, publish }) =>
      publish(deleteCredential(ctx.db, await locate(ctx, params), by)),
  }),
]

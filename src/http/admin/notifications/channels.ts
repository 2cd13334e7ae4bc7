/** `/channels`: where notifications are delivered in addition to the console, for the operators or an account. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { accountById } from '../../../accounts/accounts.ts'
import { apiError } from '../../../errors.ts'
import { parseCidrs } from '../../../lib/address-guard.ts'
import { newId } from '../../../lib/ids.ts'
import { createEmailSender } from '../../../lib/email.ts'
import { channelKinds } from '../../../notifications/webhook-channels.ts'
import { channelStates, type ChannelState } from '../../../notifications/channel-states.ts'
import {
  channelById,
  createChannel,
  deleteChannel,
  listChannels,
  loadChannelTarget,
  updateChannel,
  type Channel,
  type ChannelContext,
} from '../../../notifications/channels.ts'
import { operatorAudience } from '../../../notifications/notification-kinds.ts'
import { testMessage } from '../../../notifications/render-message.ts'
import { HttpSender, sendMessage } from '../../../notifications/send.ts'
import { languages } from '../../../notifications/locales/notification-texts.ts'
import type { AdminContext } from '../admin-context.ts'
import {
  jsonBody,
  createdResponse,
  deletedSchema,
  idParams,
  listResponse,
  okResponse,
  returnedOnce,
  time,
} from '../schemas.ts'
import { formatTime } from '../../api/json-values.ts'
import { optionalPageFields, paginate } from '../../api/pagination.ts'

const patchFields = {
  name: z.string().optional().meta({ description: 'The name that preferences use.' }),
  address: z.string().max(2000).optional().meta({
    description: 'An e-mail address, the URL of a webhook or bot, or a Telegram chat. Never returned.',
  }),
  secret: z.string().max(1000).nullish().meta({
    description:
      'webhook: the signing secret (generated if omitted); feishu, dingtalk: the signing secret; telegram: the bot token. Never returned.',
  }),
  server: z.string().max(2000).nullish().meta({
    description: 'telegram: a self-hosted Bot API server. A new one requires `secret` in the same call.',
  }),
  notices: z.array(z.string()).nullish().meta({
    description: 'The kinds of notification to deliver unless a preference overrides it; null: every kind.',
  }),
  language: z.enum(languages).optional(),
  enabled: z.boolean().optional(),
}
const channelPatch = z.strictObject(patchFields)
const channelInput = z.strictObject({
  ...patchFields,
  name: z.string(),
  kind: z.enum(channelKinds),
  address: z.string().max(2000),
  account: z.string().nullish().meta({
    description: 'The account it belongs to; null: the operators. An account can only have webhooks.',
  }),
})
export const channelSchema = z
  .object({
    id: z.string(),
    account: z.string().nullable(),
    name: z.string(),
    kind: z.enum(channelKinds),
    address: z.string().meta({ description: 'The address with its secret parts hidden.' }),
    notices: z.array(z.string()).readonly().nullable(),
    language: z.enum(languages),
    enabled: z.boolean(),
    waiting: z.int().meta({ description: 'Notifications waiting for the next message.' }),
    last_sent_at: time.nullable(),
    problem: z.string().nullable().meta({ description: 'Why the last message was not delivered.' }),
    created_at: time,
    updated_at: time,
  })
  .openapi('Channel')
export const newChannelSchema = channelSchema.extend({
  secret: z
    .string()
    .nullable()
    .meta({ description: `The secret that was generated for a webhook. ${returnedOnce}` }),
})
const testResultSchema = z.object({
  ok: z.boolean(),
  message: z.string().meta({ description: 'The result for people to read.' }),
})

const initialState: ChannelState = { lastSentAt: null, waiting: 0, problem: null }

function serializeChannel(channel: Channel, state: ChannelState): z.infer<typeof channelSchema> {
  return {
    id: channel.id,
    account: channel.audience === operatorAudience ? null : channel.audience,
    name: channel.name,
    kind: channel.kind,
    address: channel.hint,
    notices: channel.kinds,
    language: channel.language,
    enabled: channel.enabled,
    waiting: state.waiting,
    last_sent_at: formatTime(state.lastSentAt),
    problem: state.problem,
    created_at: formatTime(channel.createdAt),
    updated_at: formatTime(channel.updatedAt),
  }
}

const create = createRoute({
  method: 'post',
  path: '/channels',
  summary: 'Create a channel for notifications',
  request: { body: jsonBody(channelInput) },
  responses: createdResponse(newChannelSchema, 'The channel.'),
})
const list = createRoute({
  method: 'get',
  path: '/channels',
  summary: 'List channels by owner and name',
  request: { query: z.strictObject({ ...optionalPageFields, account: z.string().optional() }) },
  responses: listResponse(channelSchema, 'All channels, or those of one account.'),
})
const read = createRoute({
  method: 'get',
  path: '/channels/{id}',
  summary: 'Get a channel',
  request: { params: idParams },
  responses: okResponse(channelSchema, 'The channel.'),
})
const update = createRoute({
  method: 'patch',
  path: '/channels/{id}',
  summary: 'Update a channel',
  request: { params: idParams, body: jsonBody(channelPatch) },
  responses: okResponse(channelSchema, 'The updated channel.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/channels/{id}',
  summary: 'Delete a channel with its undelivered messages',
  request: { params: idParams },
  responses: okResponse(deletedSchema, 'Deleted.'),
})
const test = createRoute({
  method: 'post',
  path: '/channels/{id}/test',
  summary: 'Send a test message',
  request: { params: idParams },
  responses: okResponse(testResultSchema, 'The result; a failed delivery is 200 with `ok: false`.'),
})

/** Sends the message itself instead of queueing it for the delivery job: the operator waits for the result. */
async function sendTestMessage({ ctx }: AdminContext, id: string): Promise<z.infer<typeof testResultSchema>> {
  const { db, sealer, config } = ctx
  const { kind, language } = await channelById(db, id)
  const target = await loadChannelTarget(db, sealer, id)
  const http = new HttpSender(parseCidrs(config.channelAllow.join(',')))
  const mailer = config.smtpUrl === null ? null : createEmailSender(config.smtpUrl, config.mailFrom)
  const deps = { http, mailer, now: Date.now }
  try {
    const { problem } = await sendMessage(deps, kind, target, testMessage(newId('msg'), language))
    return { ok: problem === null, message: problem ?? 'The message was accepted.' }
  } finally {
    await http.close()
  }
}

export function channelRoutes(admin: AdminContext): OpenAPIHono {
  const { db, sealer, config } = admin.ctx
  const deps: ChannelContext = { db, sealer, allow: parseCidrs(config.channelAllow.join(',')) }

  async function serialize(channel: Channel): Promise<z.infer<typeof channelSchema>> {
    const states = await channelStates(db, [channel.id])
    return serializeChannel(channel, states.get(channel.id) ?? initialState)
  }

  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const { account, notices: kinds, ...body } = c.req.valid('json')
    const audience = account ?? operatorAudience
    if (audience !== operatorAudience && (await accountById(db, audience)) === undefined)
      throw apiError('not_found', { param: 'account', message: 'Account not found.' })
    const { channel, secret } = await createChannel(deps, { ...body, audience, kinds }, admin.by)
    return c.json({ ...serializeChannel(channel, initialState), secret }, 201)
  })
  app.openapi(list, async (c) => {
    const query = c.req.valid('query')
    const channels = await listChannels(db, query.account)
    const ids = channels.map(({ id }) => id)
    const states = await channelStates(db, ids)
    const data = channels.map((channel) => serializeChannel(channel, states.get(channel.id) ?? initialState))
    return c.json(
      paginate(data, query, ({ id }) => id),
      200,
    )
  })
  app.openapi(read, async (c) => c.json(await serialize(await channelById(db, c.req.valid('param').id)), 200))
  app.openapi(update, async (c) => {
    const { notices: kinds, ...body } = c.req.valid('json')
    const channel = await updateChannel(deps, c.req.valid('param').id, { ...body, kinds }, admin.by)
    return c.json(await serialize(channel), 200)
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await deleteChannel(db, id, admin.by)
    return c.json({ id, deleted: true as const }, 200)
  })
  app.openapi(test, async (c) => c.json(await sendTestMessage(admin, c.req.valid('param').id), 200))
  return app
}

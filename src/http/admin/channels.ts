/** `/channels`: where notices are brought beside the console, to the operators or to an account. */
import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import { accountById } from '../../accounts/accounts.ts'
import { refuse } from '../../errors.ts'
import { parseCidrs } from '../../lib/address-guard.ts'
import { newId } from '../../lib/ids.ts'
import { mailerFor } from '../../lib/email.ts'
import { channelKinds } from '../../notifications/webhook-channels.ts'
import { channelStates, type ChannelState } from '../../notifications/channel-states.ts'
import {
  channelById,
  createChannel,
  deleteChannel,
  listChannels,
  openChannel,
  updateChannel,
  type Channel,
  type ChannelMeans,
} from '../../notifications/channels.ts'
import { operator } from '../../notifications/notification-kinds.ts'
import { trialMessage } from '../../notices/message.ts'
import { HttpSender, sendMessage } from '../../notices/send.ts'
import { languages } from '../../notifications/locales/notification-texts.ts'
import type { Desk } from './desk.ts'
import { bodyOf, createdAnswer, gone, idPath, listAnswer, okAnswer, time, timeOf } from './schemas.ts'
import { shortListFields, shownOf } from './short-lists.ts'

const patchFields = {
  name: z.string().optional().meta({ description: 'What preferences call it.' }),
  address: z.string().max(2000).optional().meta({
    description:
      'An e-mail address; the address of a webhook or robot; for telegram a chat. Never told again.',
  }),
  secret: z.string().max(1000).nullish().meta({
    description:
      'Of a webhook what signs (made when not given), of feishu and dingtalk what signs, of telegram the bot’s token. Never told again.',
  }),
  server: z.string().max(2000).nullish().meta({ description: 'Of telegram: a Bot API server of your own.' }),
  notices: z
    .array(z.string())
    .nullish()
    .meta({ description: 'Kinds of notice, where no preference says otherwise; null is every kind.' }),
  language: z.enum(languages).optional(),
  enabled: z.boolean().optional(),
}
const channelPatch = z.strictObject(patchFields)
const channelIn = z.strictObject({
  ...patchFields,
  name: z.string(),
  kind: z.enum(channelKinds),
  address: z.string().max(2000),
  account: z
    .string()
    .nullish()
    .meta({ description: 'Whose it is; null is the operators’. An account has webhooks.' }),
})
export const channelOut = z
  .object({
    id: z.string(),
    account: z.string().nullable(),
    name: z.string(),
    kind: z.enum(channelKinds),
    address: z.string().meta({ description: 'What may be shown of it.' }),
    notices: z.array(z.string()).readonly().nullable(),
    language: z.enum(languages),
    enabled: z.boolean(),
    waiting: z.int().meta({ description: 'Notices that wait for the next message.' }),
    last_sent_at: time.nullable(),
    problem: z.string().nullable().meta({ description: 'Why its newest message was not taken.' }),
    created_at: time,
    updated_at: time,
  })
  .openapi('Channel')
export const channelMade = channelOut.extend({
  secret: z.string().nullable().meta({ description: 'The one that was made for a webhook; only here.' }),
})
const trialOut = z.object({
  ok: z.boolean(),
  message: z.string().meta({ description: 'What happened.' }),
})

const fresh: ChannelState = { lastSentAt: null, waiting: 0, problem: null }

function channelView(channel: Channel, state: ChannelState): z.infer<typeof channelOut> {
  return {
    id: channel.id,
    account: channel.audience === operator ? null : channel.audience,
    name: channel.name,
    kind: channel.kind,
    address: channel.hint,
    notices: channel.kinds,
    language: channel.language,
    enabled: channel.enabled,
    waiting: state.waiting,
    last_sent_at: timeOf(state.lastSentAt),
    problem: state.problem,
    created_at: timeOf(channel.createdAt),
    updated_at: timeOf(channel.updatedAt),
  }
}

const create = createRoute({
  method: 'post',
  path: '/channels',
  summary: 'Add a channel for notices',
  request: { body: bodyOf(channelIn) },
  responses: createdAnswer(channelMade, 'The channel.'),
})
const list = createRoute({
  method: 'get',
  path: '/channels',
  summary: 'List channels by whose they are and their name',
  request: { query: z.strictObject({ ...shortListFields, account: z.string().optional() }) },
  responses: listAnswer(channelOut, 'All channels, or those of an account.'),
})
const read = createRoute({
  method: 'get',
  path: '/channels/{id}',
  summary: 'Read a channel',
  request: { params: idPath },
  responses: okAnswer(channelOut, 'The channel.'),
})
const update = createRoute({
  method: 'patch',
  path: '/channels/{id}',
  summary: 'Change the fields given',
  request: { params: idPath, body: bodyOf(channelPatch) },
  responses: okAnswer(channelOut, 'The channel as it is now.'),
})
const remove = createRoute({
  method: 'delete',
  path: '/channels/{id}',
  summary: 'Remove a channel, and what was on its way to it',
  request: { params: idPath },
  responses: okAnswer(gone, 'It is gone.'),
})
const trial = createRoute({
  method: 'post',
  path: '/channels/{id}/test',
  summary: 'Send a test message at once, and tell what happened',
  request: { params: idPath },
  responses: okAnswer(trialOut, 'What happened.'),
})

/** Sends for itself, beside the job that delivers: whoever tests a channel wants to see it now. */
async function sendTrial({ house }: Desk, id: string): Promise<z.infer<typeof trialOut>> {
  const { db, sealer, config } = house
  const { kind, language } = await channelById(db, id)
  const target = await openChannel(db, sealer, id)
  const http = new HttpSender(parseCidrs(config.channelAllow.join(',')))
  const mailer = config.smtpUrl === null ? null : mailerFor(config.smtpUrl, config.mailFrom)
  const means = { http, mailer, now: Date.now }
  try {
    const { problem } = await sendMessage(means, kind, target, trialMessage(newId('msg'), language))
    return { ok: problem === null, message: problem ?? 'It was taken.' }
  } finally {
    await http.close()
  }
}

export function channelRoutes(desk: Desk): OpenAPIHono {
  const { db, sealer, config } = desk.house
  const means: ChannelMeans = { db, sealer, allow: parseCidrs(config.channelAllow.join(',')) }

  async function viewed(channel: Channel): Promise<z.infer<typeof channelOut>> {
    const states = await channelStates(db, [channel.id])
    return channelView(channel, states.get(channel.id) ?? fresh)
  }

  const app = new OpenAPIHono()
  app.openapi(create, async (c) => {
    const { account, notices: kinds, ...given } = c.req.valid('json')
    const audience = account ?? operator
    if (audience !== operator && (await accountById(db, audience)) === undefined)
      throw refuse('not_found', { param: 'account', message: 'There is no such account.' })
    const { channel, secret } = await createChannel(means, { ...given, audience, kinds }, desk.by)
    return c.json({ ...channelView(channel, fresh), secret }, 201)
  })
  app.openapi(list, async (c) => {
    const query = c.req.valid('query')
    const channels = await listChannels(db, query.account)
    const ids = channels.map(({ id }) => id)
    const states = await channelStates(db, ids)
    const data = channels.map((channel) => channelView(channel, states.get(channel.id) ?? fresh))
    return c.json(
      shownOf(data, query, ({ id }) => id),
      200,
    )
  })
  app.openapi(read, async (c) => c.json(await viewed(await channelById(db, c.req.valid('param').id)), 200))
  app.openapi(update, async (c) => {
    const { notices: kinds, ...given } = c.req.valid('json')
    const channel = await updateChannel(means, c.req.valid('param').id, { ...given, kinds }, desk.by)
    return c.json(await viewed(channel), 200)
  })
  app.openapi(remove, async (c) => {
    const { id } = c.req.valid('param')
    await deleteChannel(db, id, desk.by)
    return c.json({ id, deleted: true as const }, 200)
  })
  app.openapi(trial, async (c) => c.json(await sendTrial(desk, c.req.valid('param').id), 200))
  return app
}

/** `/channels`: where notifications are delivered in addition to the console, for the operators or an account. */
import { z } from '@hono/zod-openapi'
import { jsonFields } from '../../api/json-fields.ts'
import { view } from '../../api/define-endpoints.ts'
import { admin } from '../admin-context.ts'
import type { AppContext } from '../../app-context.ts'
import type { Db } from '../../../db/db.ts'
import { accountById } from '../../../accounts/accounts.ts'
import { apiError } from '../../../errors.ts'
import { parseCidrs } from '../../../lib/address-guard.ts'
import { newId } from '../../../lib/ids.ts'
import { brandedSender } from '../../../branding/branded-email.ts'
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
import { returnedOnce, time } from '../schemas.ts'

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

interface ChannelWithState {
  readonly channel: Channel
  readonly state: ChannelState
}

function serializeChannel({ channel, state }: ChannelWithState) {
  return {
    ...jsonFields({ ...channel, ...state }),
    account: channel.audience === operatorAudience ? null : channel.audience,
    address: channel.hint,
    notices: channel.kinds,
  }
}

const channelView = view('channel', channelSchema, serializeChannel)

async function addStates(db: Db, channels: readonly Channel[]): Promise<ChannelWithState[]> {
  const ids = channels.map(({ id }) => id)
  const states = await channelStates(db, ids)
  return channels.map((channel) => ({ channel, state: states.get(channel.id) ?? initialState }))
}

async function addState(db: Db, channel: Channel): Promise<ChannelWithState | undefined> {
  return (await addStates(db, [channel]))[0]
}

function contextOf({ db, sealer, config }: AppContext): ChannelContext {
  return { db, sealer, allow: parseCidrs(config.channelAllow.join(',')) }
}

/** Sends the message itself instead of queueing it for the delivery job: the operator waits for the result. */
async function sendTestMessage(ctx: AppContext, id: string): Promise<z.infer<typeof testResultSchema>> {
  const { db, sealer, config } = ctx
  const { kind, language } = await channelById(db, id)
  const target = await loadChannelTarget(db, sealer, id)
  await using http = new HttpSender(contextOf(ctx).allow)
  const sender = config.smtpUrl === null ? null : createEmailSender(config.smtpUrl, config.mailFrom)
  const mailer = sender && brandedSender(sender, ctx.branding.current, language)
  const deps = { http, mailer, now: Date.now }
  const { problem } = await sendMessage(deps, kind, target, testMessage(newId('msg'), language))
  return { ok: problem === null, message: problem ?? 'The message was accepted.' }
}

export const channelEndpoints = [
  admin.create('/channels', {
    summary: 'Create a channel for notifications',
    body: channelInput,
    response: newChannelSchema,
    returns: 'The channel.',
    async handle({ ctx, by, body: { account, notices: kinds, ...body } }) {
      const audience = account ?? operatorAudience
      if (audience !== operatorAudience && (await accountById(ctx.db, audience)) === undefined)
        throw apiError('not_found', { param: 'account', message: 'Account not found.' })
      const { channel, secret } = await createChannel(contextOf(ctx), { ...body, audience, kinds }, by)
      return { ...serializeChannel({ channel, state: initialState }), secret }
    },
  }),
  admin.list('/channels', {
    summary: 'List channels by owner and name',
    item: channelView,
    returns: 'All channels, or those of one account.',
    filters: { account: z.string().optional() },
    idOf: ({ channel }) => channel.id,
    handle: async ({ ctx: { db }, query }) => addStates(db, await listChannels(db, query.account)),
  }),
  admin.get('/channels/{id}', {
    summary: 'Get a channel',
    response: channelView,
    handle: async ({ ctx: { db }, params }) => addState(db, await channelById(db, params.id)),
  }),
  admin.patch('/channels/{id}', {
    summary: 'Update a channel',
    body: channelPatch,
    response: channelView,
    async handle({ ctx, by, params, body: { notices: kinds, ...body } }) {
      return addState(ctx.db, await updateChannel(contextOf(ctx), params.id, { ...body, kinds }, by))
    },
  }),
  admin.delete('/channels/{id}', {
    summary: 'Delete a channel with its undelivered messages',
    handle: ({ ctx, by, params }) => deleteChannel(ctx.db, params.id, by),
  }),
  admin.post('/channels/{id}/test', {
    summary: 'Send a test message',
    response: testResultSchema,
    returns: 'The result; a failed delivery is 200 with `ok: false`.',
    handle: ({ ctx, params }) => sendTestMessage(ctx, params.id),
  }),
]

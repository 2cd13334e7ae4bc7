/** The services that receive notifications, as far as they validate a message: its signature and its shape. */

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'

import { startWebhookSink, type ReceivedWebhook, type WebhookSink } from './webhook-sinks.ts'

export function parseBody({ body }: ReceivedWebhook): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>
}

function hmac(key: string | Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64')
}

/** Whether the timestamp of a signature is current; `unitMs`: its unit. */
function isNow(time: unknown, unitMs: number): boolean {
  return Math.abs(Number(time) * unitMs - Date.now()) < 60_000
}

export const secrets = {
  feishu: 'feishu-signing-secret',
  dingtalk: 'SEC0123456789abcdef',
  telegram: '123456789:AAbbccddeeff_gg-hh',
  webhook: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
}

/** Whether a service accepts a message, and the response bodies with which it accepts and rejects. */
export const chatServices: Record<
  string,
  { isValid: (received: ReceivedWebhook) => boolean; accepted: string; rejected: string }
> = {
  feishu: {
    accepted: '{"code":0,"msg":"success"}',
    rejected: '{"code":19021,"msg":"sign match fail or timestamp is not within one hour from current time"}',
    isValid(received) {
      const { timestamp, sign, msg_type: type } = parseBody(received)
      const expected = hmac(`${String(timestamp)}\n${secrets.feishu}`, '')
      return isNow(timestamp, 1000) && sign === expected && type === 'post'
    },
  },
  dingtalk: {
    accepted: '{"errcode":0,"errmsg":"ok"}',
    rejected: '{"errcode":310000,"errmsg":"sign not match"}',
    isValid(received) {
      const query = received.url.searchParams
      const expected = hmac(secrets.dingtalk, `${query.get('timestamp')}\n${secrets.dingtalk}`)
      const { msgtype } = parseBody(received)
      const isSigned = isNow(query.get('timestamp'), 1) && query.get('sign') === expected
      return isSigned && query.get('access_token') === 'token-of-dingtalk' && msgtype === 'text'
    },
  },
  wecom: {
    accepted: '{"errcode":0,"errmsg":"ok"}',
    rejected: '{"errcode":93000,"errmsg":"invalid webhook url"}',
    isValid: (received) =>
      received.url.searchParams.get('key') === 'key-of-wecom' && parseBody(received)['msgtype'] === 'text',
  },
  slack: {
    accepted: 'ok',
    rejected: 'invalid_payload',
    isValid(received) {
      const { text, blocks } = parseBody(received)
      return typeof text === 'string' && !text.includes('<') && Array.isArray(blocks)
    },
  },
  telegram: {
    accepted: '{"ok":true,"result":{"message_id":1}}',
    rejected: '{"ok":false,"error_code":401,"description":"Unauthorized"}',
    isValid(received) {
      const { chat_id: chat, text, parse_mode: mode } = parseBody(received)
      const isSendMessage = received.url.pathname === `/bot${secrets.telegram}/sendMessage`
      return isSendMessage && chat === '-1001' && typeof text === 'string' && mode === undefined
    },
  },
  webhook: {
    accepted: '',
    rejected: '',
    isValid({ headers, body }) {
      const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = headers
      const key = Buffer.from(secrets.webhook.slice('whsec_'.length), 'base64')
      return isNow(time, 1000) && signature === `v1,${hmac(key, `${String(id)}.${String(time)}.${body}`)}`
    },
  },
}

export const webhookPaths: Record<string, string> = {
  dingtalk: '/robot/send?access_token=token-of-dingtalk',
  wecom: '/cgi-bin/webhook/send?key=key-of-wecom',
  slack: '/services/T0/B0/path-of-slack',
  feishu: '/open-apis/bot/v2/hook/path-of-feishu',
  webhook: '/hooks/path-of-webhook',
}

/** Starts a sink that accepts what the service would accept. */
export async function startChatService(kind: string): Promise<WebhookSink> {
  const service = chatServices[kind]
  assert.ok(service)
  return startWebhookSink((received) => {
    if (service.isValid(received)) return { body: service.accepted }
    return { status: kind === 'webhook' || kind === 'slack' ? 400 : 200, body: service.rejected }
  })
}

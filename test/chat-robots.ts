/** The services that notices are brought to, as far as they judge what they get: true signatures, true shapes. */

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'

import { openReceiver, type Received, type Receiver } from './support/sinks/webhook-sinks.ts'

export function fieldsOf({ body }: Received): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>
}

function hmac(key: string | Buffer, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64')
}

/** Whether a time of the signature is now; `unitMs`: what it is counted in. */
function isNow(time: unknown, unitMs: number): boolean {
  return Math.abs(Number(time) * unitMs - Date.now()) < 60_000
}

export const secrets = {
  feishu: 'feishu-signing-secret',
  dingtalk: 'SEC0123456789abcdef',
  telegram: '123456789:AAbbccddeeff_gg-hh',
  webhook: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
}

/** Whether a service would take it; its own way to say yes or no. */
export const services: Record<string, { isGood: (received: Received) => boolean; yes: string; no: string }> =
  {
    feishu: {
      yes: '{"code":0,"msg":"success"}',
      no: '{"code":19021,"msg":"sign match fail or timestamp is not within one hour from current time"}',
      isGood(received) {
        const { timestamp, sign, msg_type: type } = fieldsOf(received)
        const expected = hmac(`${String(timestamp)}\n${secrets.feishu}`, '')
        return isNow(timestamp, 1000) && sign === expected && type === 'post'
      },
    },
    dingtalk: {
      yes: '{"errcode":0,"errmsg":"ok"}',
      no: '{"errcode":310000,"errmsg":"sign not match"}',
      isGood(received) {
        const query = received.url.searchParams
        const expected = hmac(secrets.dingtalk, `${query.get('timestamp')}\n${secrets.dingtalk}`)
        const { msgtype } = fieldsOf(received)
        const isSigned = isNow(query.get('timestamp'), 1) && query.get('sign') === expected
        return isSigned && query.get('access_token') === 'token-of-dingtalk' && msgtype === 'text'
      },
    },
    wecom: {
      yes: '{"errcode":0,"errmsg":"ok"}',
      no: '{"errcode":93000,"errmsg":"invalid webhook url"}',
      isGood: (received) =>
        received.url.searchParams.get('key') === 'key-of-wecom' && fieldsOf(received)['msgtype'] === 'text',
    },
    slack: {
      yes: 'ok',
      no: 'invalid_payload',
      isGood(received) {
        const { text, blocks } = fieldsOf(received)
        return typeof text === 'string' && !text.includes('<') && Array.isArray(blocks)
      },
    },
    telegram: {
      yes: '{"ok":true,"result":{"message_id":1}}',
      no: '{"ok":false,"error_code":401,"description":"Unauthorized"}',
      isGood(received) {
        const { chat_id: chat, text, parse_mode: mode } = fieldsOf(received)
        const isAsked = received.url.pathname === `/bot${secrets.telegram}/sendMessage`
        return isAsked && chat === '-1001' && typeof text === 'string' && mode === undefined
      },
    },
    webhook: {
      yes: '',
      no: '',
      isGood({ headers, body }) {
        const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signature } = headers
        const key = Buffer.from(secrets.webhook.slice('whsec_'.length), 'base64')
        return isNow(time, 1000) && signature === `v1,${hmac(key, `${String(id)}.${String(time)}.${body}`)}`
      },
    },
  }

export const pathOf: Record<string, string> = {
  dingtalk: '/robot/send?access_token=token-of-dingtalk',
  wecom: '/cgi-bin/webhook/send?key=key-of-wecom',
  slack: '/services/T0/B0/path-of-slack',
  feishu: '/open-apis/bot/v2/hook/path-of-feishu',
  webhook: '/hooks/path-of-webhook',
}

/** A receiver that takes what its service would take. */
export async function openService(kind: string): Promise<Receiver> {
  const service = services[kind]
  assert.ok(service)
  return openReceiver((received) => {
    if (service.isGood(received)) return { body: service.yes }
    return { status: kind === 'webhook' || kind === 'slack' ? 400 : 200, body: service.no }
  })
}

/** WeChat Pay with its scripted provider, whose clock both sides have. */
import assert from 'node:assert/strict'

import { readConfig } from '../../../src/config.ts'
import { ProviderHttp } from '../../../src/payments/provider-http.ts'
import { createWechat } from '../../../src/payments/wechat.ts'
import type { OpenMethod } from './method-fixture.ts'
import { WechatServer, type WechatMode } from './wechat-server.ts'

export type OpenWechat = OpenMethod & { readonly server: WechatServer }

export async function openWechat(
  mode: WechatMode,
  changes: Readonly<Record<string, string>> = {},
): Promise<OpenWechat> {
  const server = await WechatServer.start(mode)
  const config = readConfig({ ...server.settings, ...changes })
  const http = new ProviderHttp(config.paymentAllow)
  const method = createWechat({ config, currency: 'CNY', http, now: () => server.now() })
  assert.ok(method)
  return {
    method,
    provider: server,
    server,
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

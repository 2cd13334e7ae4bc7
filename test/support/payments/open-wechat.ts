/** WeChat Pay with its scripted provider, whose clock both sides have. */

import { createWechat } from '../../../src/payments/wechat.ts'
import { openWith, type OpenMethod } from './method-fixture.ts'
import { WechatServer, type WechatMode } from './wechat-server.ts'

export type OpenWechat = OpenMethod & { readonly server: WechatServer }

export async function openWechat(
  mode: WechatMode,
  changes: Readonly<Record<string, string>> = {},
): Promise<OpenWechat> {
  const server = await WechatServer.start(mode)
  const options = { settings: changes, now: () => server.now() }
  return { ...openWith(server, createWechat, options), server }
}

import { describe, test } from 'node:test'

import { methodCases } from '../../test/support/payments/method-contract.ts'
import { signedContract, type MethodContract } from '../../test/support/payments/method-fixture.ts'
import { WechatServer } from '../../test/support/payments/wechat-server.ts'
import { createWechat } from './wechat.ts'

const merchantSettings = [
  'WECHAT_MCHID',
  'WECHAT_APPID',
  'WECHAT_SERIAL',
  'WECHAT_PRIVATE_KEY',
  'WECHAT_V3_KEY',
]

const contract: MethodContract = {
  create: createWechat,
  start: async () => await WechatServer.start('public-key'),
  required: [...merchantSettings, 'WECHAT_PUBLIC_KEY_ID', 'WECHAT_PUBLIC_KEY'],
  wrongSettings: { WECHAT_MCHID: '1900009999' },
  ...signedContract,
  billFaults: { missing: 'not-ready', short: 'error', 'wrong-hash': 'error', html: 'error' },
  billsNameRefunds: true,
  noticeFaults: ['wrong-key', 'no-signature', 'old', 'future', 'altered-body', 'repeated-field'],
  noticeResponses: {
    accepted: { status: 204, body: /^$/ },
    retry: { status: 503, body: /^\{"code":"FAIL","message":".+"\}$/ },
    forged: { status: 401, body: /^\{"code":"FAIL","message":".+"\}$/ },
  },
  reported: ['currency', 'merchant'],
}

const certificateContract: MethodContract = {
  ...contract,
  start: async () => await WechatServer.start('certificates'),
  required: merchantSettings,
  wrongSettings: { WECHAT_V3_KEY: 'fedcba9876543210fedcba9876543210' },
}

describe('wechat contract, public key', () => {
  for (const [title, run] of methodCases(contract)) test(`wechat – ${title}`, run)
})

describe('wechat contract, certificates', () => {
  for (const [title, run] of methodCases(certificateContract)) test(`wechat certificates – ${title}`, run)
})

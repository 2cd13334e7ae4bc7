/** epay as the tests open it: the contract of each version, and a site with other settings. */
import assert from 'node:assert/strict'

import { createEpay } from '../../../src/payments/epay.ts'
import { EpayServer } from './epay-server.ts'
import { otherKeys } from './epay-state.ts'
import { createMethod, type MethodContract } from './method-fixture.ts'

const shared = {
  create: createEpay,
  createFaults: ['unreachable', 'refused', 'notice-first'],
  billFaults: { missing: 'error', html: 'error' },
  billsNameRefunds: false,
  noticeAnswers: {
    accepted: { status: 200, body: /^success$/ },
    retry: { status: 503, body: /^fail$/ },
    forged: { status: 400, body: /^fail$/ },
  },
  reported: ['merchant'],
} as const satisfies Partial<MethodContract>

export const version1: MethodContract = {
  ...shared,
  start: () => EpayServer.start(1),
  required: ['EPAY_BASE', 'EPAY_PID', 'EPAY_KEY'],
  wrongSettings: { EPAY_KEY: 'not-the-key-of-the-site' },
  queryFaults: ['timeout', 'html', 'server-error', 'flapping'],
  closeFaults: [],
  refundFaults: { timeout: 'unclear', refused: 'refused', abnormal: 'unclear', 'odd-code': 'unclear' },
  refundsByNumber: false,
  noticeFaults: ['wrong-key', 'no-signature', 'altered-body', 'repeated-field'],
}

export const version2: MethodContract = {
  ...shared,
  start: () => EpayServer.start(2),
  required: ['EPAY_BASE', 'EPAY_PID', 'EPAY_PRIVATE_KEY', 'EPAY_PUBLIC_KEY', 'EPAY_TYPES'],
  wrongSettings: {
    EPAY_PRIVATE_KEY: otherKeys.privateKey.export({ format: 'der', type: 'pkcs1' }).toString('base64'),
  },
  queryFaults: ['timeout', 'html', 'unsigned', 'bad-signature', 'server-error', 'flapping'],
  closeFaults: ['none', 'says-paid', 'timeout'],
  refundFaults: {
    timeout: 'error',
    processing: 'sent',
    refused: 'refused',
    abnormal: 'unclear',
    'odd-code': 'done',
  },
  refundsByNumber: true,
  noticeFaults: ['wrong-key', 'no-signature', 'old', 'future', 'altered-body', 'repeated-field'],
}

/** A site of version 1 with other settings; empty: not set. */
export async function openSite(settings: Readonly<Record<string, string>>) {
  const provider = await EpayServer.start(1)
  const created = createMethod(createEpay, { ...provider.settings, ...settings })
  const { method } = created
  assert.ok(method)
  return {
    provider,
    method,
    async [Symbol.asyncDispose]() {
      await created[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

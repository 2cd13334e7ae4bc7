/** epay as the tests open it: the contract of each version, and a site with other settings. */

import { createEpay } from '../../../src/payments/epay.ts'
import { EpayServer } from './epay-server.ts'
import { otherKeys } from './epay-state.ts'
import { openWith, signedContract, type MethodContract } from './method-fixture.ts'

const shared = {
  create: createEpay,
  createFaults: ['unreachable', 'refused', 'notice-first'],
  billFaults: { missing: 'error', html: 'error' },
  billsNameRefunds: false,
  noticeResponses: {
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
  ...signedContract,
  refundFaults: { ...signedContract.refundFaults, 'odd-code': 'done' },
  noticeFaults: ['wrong-key', 'no-signature', 'old', 'future', 'altered-body', 'repeated-field'],
}

/** A site of version 1 with other settings; empty: not set. */
export const openSite = async (settings: Readonly<Record<string, string>>) =>
  openWith(await EpayServer.start(1), createEpay, { settings })

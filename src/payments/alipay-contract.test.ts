import { describe, test } from 'node:test'

import { AlipayServer, withPayer } from '../../test/support/payments/alipay-server.ts'
import { methodCases } from '../../test/support/payments/method-contract.ts'
import { signedContract, type MethodContract } from '../../test/support/payments/method-fixture.ts'
import { createAlipay } from './alipay.ts'

const contract: MethodContract = {
  create: (deps) => withPayer(createAlipay(deps)),
  start: async () => await AlipayServer.start(),
  required: ['ALIPAY_APP_ID', 'ALIPAY_SELLER_ID', 'ALIPAY_PRIVATE_KEY', 'ALIPAY_PUBLIC_KEY'],
  wrongSettings: { ALIPAY_APP_ID: '2021000000009999' },
  ...signedContract,
  billFaults: { missing: 'not-ready', short: 'error', 'wrong-hash': 'error', html: 'error' },
  billsNameRefunds: true,
  // Alipay repeats notices for a day, and gives them no time that could be too old.
  noticeFaults: ['wrong-key', 'no-signature', 'altered-body', 'repeated-field'],
  noticeResponses: {
    accepted: { status: 200, body: /^success$/ },
    retry: { status: 503, body: /^fail$/ },
    forged: { status: 400, body: /^fail$/ },
  },
  // A read names no merchant: only the app's own trades can be read.
  reported: ['currency'],
}

describe('alipay contract', () => {
  for (const [title, run] of methodCases(contract)) test(`alipay – ${title}`, run)
})

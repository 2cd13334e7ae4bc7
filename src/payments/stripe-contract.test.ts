import { describe, test } from 'node:test'

import { methodCases } from '../../test/support/payments/method-contract.ts'
import type { MethodContract } from '../../test/support/payments/method-fixture.ts'
import { StripeServer } from '../../test/support/payments/stripe-server.ts'
import { createStripe } from './stripe.ts'

const contract: MethodContract = {
  create: createStripe,
  start: async () => await StripeServer.start(),
  required: ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'],
  wrongSettings: { STRIPE_SECRET_KEY: 'sk_test_of_somebody_else' },
  // A notice that comes first needs a relay at the return URL.
  createFaults: ['unreachable', 'refused'],
  queryFaults: ['timeout', 'html', 'server-error', 'flapping'],
  closeFaults: ['none', 'says-paid', 'timeout'],
  refundFaults: {
    timeout: 'error',
    processing: 'sent',
    refused: 'refused',
    abnormal: 'refused',
    'odd-code': 'unclear',
  },
  refundsByNumber: true,
  billFaults: { missing: 'error', short: 'error', html: 'error' },
  billsNameRefunds: true,
  noticeFaults: ['wrong-key', 'no-signature', 'old', 'future', 'altered-body', 'repeated-field'],
  noticeResponses: {
    accepted: { status: 200, body: /^$/ },
    retry: { status: 503, body: /^$/ },
    forged: { status: 400, body: /^$/ },
  },
  reported: ['currency', 'merchant'],
}

describe('stripe contract', () => {
  for (const [title, run] of methodCases(contract)) test(`stripe – ${title}`, run)
})

/** `/limit-requests`: customers' requests for higher limits, and the answers to them. */
import { z } from '@hono/zod-openapi'
import { admin } from '../admin-context.ts'
import { limitRequestView } from '../../api/limit-requests.ts'
import { idCursor } from '../../api/pagination.ts'
import { updateAccount } from '../../../accounts/accounts.ts'
import { answerLimitRequest, limitRequestById, listLimitRequests } from '../../../accounts/limit-requests.ts'
import { apiError } from '../../../errors.ts'
import { limitsInput, toLimitsPatch } from '../schemas.ts'

export const limitRequestEndpoints = [
  admin.page('/limit-requests', {
    summary: 'List requests for higher limits, newest first',
    item: limitRequestView,
    filters: { status: z.enum(['open', 'granted', 'declined']).optional() },
    cursor: idCursor,
    csv: [
      'id',
      'account',
      'account_email',
      'status',
      'wanted.rpm',
      'wanted.tpm',
      'wanted.rpd',
      'wanted.concurrency',
      'reason',
      'answer',
      'created_at',
      'answered_at',
    ],
    handle: ({ ctx, query, page }) => listLimitRequests(ctx.db, { ...page, status: query.status }),
  }),
  admin.post('/limit-requests/{id}', {
    summary: 'Grant a limit request, as requested or with other limits, or decline it',
    body: z.strictObject({
      decision: z.enum(['grant', 'decline']),
      limits: limitsInput.optional().meta({ description: 'Granted instead of the requested limits.' }),
      answer: z.string().max(2000).default(''),
    }),
    response: limitRequestView,
    returns: 'The answered request.',
    async handle({ ctx: { db }, by, params, body: { decision, limits, answer }, publish }) {
      const request = await limitRequestById(db, params.id)
      if (request.status !== 'open')
        throw apiError('conflict', { message: 'This request has already been answered.' })
      if (decision === 'grant') {
        const granted = toLimitsPatch(limits ?? request.wanted)
        await publish(updateAccount(db, request.accountId, { limits: granted }, by))
      }
      const status = decision === 'grant' ? 'granted' : 'declined'
      return answerLimitRequest(db, request.id, { status, answer }, by)
    },
  }),
]

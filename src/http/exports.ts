/** Exports of an account (CSV, PDF), which read all that a list or a month has: one at a time for each account. */
import { setImmediate } from 'node:timers/promises'
import { apiError, type ApiError } from '../errors.ts'
import { newId } from '../lib/ids.ts'
import type { AppContext } from './app-context.ts'

const retryAfterMs = 5000

function tooMany(): ApiError {
  const message = 'Another export of this account is running. Wait until it has finished.'
  return apiError('rate_limit_exceeded', { message, retryAfterMs })
}

export interface Export extends AsyncDisposable {
  /** Between two pages: requests of others are served first. Throws 429 if the export took too long and lost its turn. */
  continue(): Promise<void>
}

type ExportServices = Pick<AppContext, 'takeExport' | 'endExport'>

/** Throws 429 while another export of the account is running. */
export async function beginExport(ctx: ExportServices, account: string): Promise<Export> {
  const id = newId('exp')
  const take = async (): Promise<void> => {
    if (!(await ctx.takeExport(account, id))) throw tooMany()
  }
  await take()
  return {
    async continue() {
      await setImmediate()
      await take()
    },
    [Symbol.asyncDispose]: () => ctx.endExport(account, id),
  }
}

/** An export of no account: an operator's. */
export const unboundedExport: Export = {
  continue: () => setImmediate(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
}

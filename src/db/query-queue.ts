/** The queries that wait for one connection, in turns of their owners. */
import { FairQueue } from '../lib/fair-queue.ts'
import { StoreError } from './store-error.ts'

/** More waiting queries of an owner are rejected as `busy`. A page needs fewer than ten. */
export const maxWaitingQueries = 100

export function createQueryQueue(): FairQueue {
  return new FairQueue({
    maxWaitingOfOwner: maxWaitingQueries,
    rejection: () => new StoreError({ class: 'busy', message: 'Too many queries of one owner are waiting.' }),
  })
}

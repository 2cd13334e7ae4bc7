/** What every handler of the admin API works with: the services, and the actor on whose behalf it runs. */
import type { AppContext } from '../app-context.ts'

export interface AdminContext {
  readonly ctx: AppContext
  /** The actor, as the audit log names it. */
  readonly by: string
}

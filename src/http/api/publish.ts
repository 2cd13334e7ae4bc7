import type { Changed } from '../../db/change.ts'
import type { AppContext } from '../app-context.ts'

/** Waits for a write and publishes its changes to every thread. Returns the written value. */
export async function writeAndPublish<Value>(
  { ctx }: { readonly ctx: Pick<AppContext, 'publishChanges'> },
  write: Promise<Changed<Value>>,
): Promise<Value> {
  const { value, changes } = await write
  await ctx.publishChanges(changes)
  return value
}

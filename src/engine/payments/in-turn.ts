/** Work that asks providers: one call at a time for each method, so that a slow provider delays only its own. */
import type { MethodName } from '../../payments/payment-method.ts'

/** `work` must not reject. Ends early, between two calls, once `isStopped`. */
export async function inTurn<Item extends { readonly method: MethodName }>(
  items: readonly Item[],
  isStopped: () => boolean,
  work: (item: Item) => Promise<unknown>,
): Promise<void> {
  const byMethod = Map.groupBy(items, ({ method }) => method)
  await Promise.all(
    [...byMethod.values()].map(async (own) => {
      for (const item of own) {
        if (isStopped()) return
        await work(item)
      }
    }),
  )
}

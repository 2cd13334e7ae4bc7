/** Work that asks providers: one call at a time for each method, so that a slow provider delays only its own. */
import type { MethodName } from '../../payments/payment-method.ts'

/** `work` must not reject; false: the provider does not respond, and its other items wait. Ends early once `isStopped`. */
export async function inTurn<Item extends { readonly method: MethodName }>(
  items: readonly Item[],
  isStopped: () => boolean,
  work: (item: Item) => Promise<boolean>,
): Promise<void> {
  const byMethod = Map.groupBy(items, ({ method }) => method)
  await Promise.all(
    [...byMethod.values()].map(async (own) => {
      for (const item of own) {
        if (isStopped() || !(await work(item))) return
      }
    }),
  )
}

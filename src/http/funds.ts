/** Whether an account can call a model at all. Those that cannot hold little of the memory for bodies. */
import { allowsModel } from '../accounts/allowlists.ts'
import type { Caller } from '../accounts/directory.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { boundOf, maxCostOf } from '../ledger/cost-bound.ts'
import type { LedgerClient } from '../relay/ledger-client.ts'

/** The account has a balance, or its key may call a model that is free. */
export async function hasFunds(
  { catalog, ledger }: { readonly catalog: Catalog; readonly ledger: Pick<LedgerClient, 'balanceOf'> },
  { accountId, models, priceFactorPpm }: Caller,
): Promise<boolean> {
  if ((await ledger.balanceOf(accountId)) > 0n) return true
  return catalog
    .models()
    .some(
      ({ id, price }) => allowsModel(models, id) && maxCostOf(boundOf(price, 1), 1, 1, priceFactorPpm) === 0n,
    )
}

/** Load balancing among routes and credentials: by weight, by rendezvous hashing for affinity, or by lowest cost. */
import type { LiveRoute, VersionedPrice } from '../../catalog/catalog.ts'
import { costOf, type Usage } from '../../ledger/price.ts'

/** What providers are compared by. */
const typicalUsage: Usage = { input: 3000, cachedInput: 0, cacheWrite: 0, output: 1000, reasoning: 0 }

/** The price by which a route is ranked. The prices of an upstream that serves several models are an estimate. */
export function rankingPrice({ cost, upstream }: LiveRoute): VersionedPrice | null {
  return cost ?? upstream.price
}

/** Nanos of a typical request. A route with unknown prices counts as the most expensive. */
export function typicalCost(route: LiveRoute): number {
  const price = rankingPrice(route)
  return price === null ? Infinity : Number(costOf(price, typicalUsage, 1_000_000))
}

/** The routes with the lowest score; all of them if they are equal. */
export function withLowestScore(
  group: readonly LiveRoute[],
  scoreOf: (route: LiveRoute) => number,
): LiveRoute[] {
  const scores = group.map(scoreOf)
  const lowest = Math.min(...scores)
  return group.filter((_route, index) => scores[index] === lowest)
}

/**
 * Picks by weight: always the same item for a conversation, else at random. An item of weight zero is picked only if
 * all have weight zero.
 */
export function pickByWeight<Item extends { readonly weight: number }>(
  group: readonly Item[],
  { conversation, random }: { readonly conversation: number | null; readonly random: () => number },
  hash: (item: Item) => number,
): Item | null {
  const [first = null] = group
  if (group.length <= 1) return first
  if (conversation !== null) {
    const scores = group.map((item) => rendezvousScore(conversation, hash(item), item.weight))
    return group[scores.indexOf(Math.max(...scores))] ?? first
  }
  const total = group.reduce((sum, { weight }) => sum + weight, 0)
  let point = random() * total
  return group.find(({ weight }) => (point -= weight) < 0) ?? first
}

/** FNV-1a over UTF-16 units, finalized as in murmur3 so that similar names get unrelated hashes. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return mixBits(hash)
}

function mixBits(hash: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/** Weighted rendezvous hashing: the highest score is taken, and each item wins in proportion to its weight. */
function rendezvousScore(conversation: number, hash: number, weight: number): number {
  // Greater than 0 and less than 1.
  const draw = (mixBits(conversation ^ hash) + 0.5) / 2 ** 32
  return weight / -Math.log(draw)
}

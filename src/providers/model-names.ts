/**
 * Compares the upstream's name for a model, as a route has it, with the one that a response names. Providers return the
 * dated name of an alias, add or leave out the name of the maker, the folder or the region, and write versions in
 * several ways; such names are of the same model.
 */

/** Makers and regions of Amazon Bedrock's names: `us.anthropic.`. */
const makers = /^(?:(?:[a-z-]+|ai21)\.)+/
/** What follows a deployment's model (Fireworks), or the name of a file with weights. */
const ending = /#.*|\.gguf$/
/** An alias of the newest version does not say which one that is. */
const alias = /[-:](?:latest|default)$/
const dates = String.raw`20\d{2}-\d{2}-\d{2}|\d{2}-20\d{2}|\d{2}-\d{2}|20\d{6}|\d{6}|\d{4}`
/** `reasoning` is xAI's; those after a colon are Bedrock's revisions and OpenRouter's variants. */
const revisions = String.raw`00\d|v\d+|preview|exp|experimental|beta|reasoning`
const variants = 'free|nitro|floor|exacto|extended|online|thinking'
/** A version at the end of a name: a date such as `2024-08-06`, `05-06` or `0613`, or a revision. */
const version = new RegExp(`(?:[-@:](?:(?<date>${dates})|(?<revision>${revisions}))|:(?:\\d+|${variants}))$`)
const century = /^20(?=\d\d-?\d\d-?\d\d$)|(?<=^\d\d-)20(?=\d\d$)/
/** The upstream chooses the model (`openrouter/auto`), or the name is that of an endpoint (Volcengine's `ep-…`). */
const chosenByUpstream = /(?:^|[-/])auto$|^ep-\d/i

interface ModelName {
  /** The words without versions, sorted: `claude-3.5-sonnet` and `claude-sonnet-3-5` have the same. */
  readonly base: string
  /** Dates as pairs of digits, because providers write them in any order, with or without the year. */
  readonly versions: ReadonlySet<string>
}

function parseModelName(name: string): ModelName {
  const versions = new Set<string>()
  const bare = name.toLowerCase().trim().replace(ending, '')
  let base = bare
    .slice(bare.lastIndexOf('/') + 1)
    .replace(makers, '')
    .replace(alias, '')
  for (let found = version.exec(base); found; found = version.exec(base)) {
    base = base.slice(0, found.index).replace(alias, '')
    const { date, revision } = found.groups ?? {}
    if (date === undefined) versions.add(revision ?? found[0])
    else for (const pair of date.replace(century, '').match(/\d\d/g) ?? []) versions.add(pair)
  }
  return {
    base: base
      .split(/[-._ ]+/)
      .toSorted()
      .join(' '),
    versions,
  }
}

/**
 * Whether a response that names the model `served` can be of the model `asked`: their names are the same, or one has
 * versions that the other leaves out. An empty name says nothing.
 */
export function isSameModel(asked: string, served: string): boolean {
  if (asked === served || served.trim() === '' || chosenByUpstream.test(asked)) return true
  const [one, other] = [parseModelName(asked), parseModelName(served)]
  if (one.base !== other.base) return false
  return one.versions.isSubsetOf(other.versions) || other.versions.isSubsetOf(one.versions)
}

/** The paths of the public status, apart from its handler, which is loaded on first use. */

const paths = ['/status', '/status.json', '/status.rss'] as const
export type StatusPath = (typeof paths)[number]

/** The path of a URL with or without a query, if it is one of the status page's. */
export function statusPathOf(url: string): StatusPath | undefined {
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  return paths.find((each) => each === path)
}

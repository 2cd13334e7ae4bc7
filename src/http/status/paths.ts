/** Where the public status is: a page for people, and the same for programs and for feed readers. */

const paths = ['/status', '/status.json', '/status.rss'] as const
export type StatusPath = (typeof paths)[number]

/** The one of them that an address names, whatever is asked of it. */
export function statusPathOf(url: string): StatusPath | undefined {
  const end = url.indexOf('?')
  const path = end < 0 ? url : url.slice(0, end)
  return paths.find((each) => each === path)
}

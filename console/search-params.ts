/** Filters in the address are plain words: `?model=a&outcome=ok`, readable and fit to be shared. */

export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text))
}

export function stringifySearch(search: Record<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'string' && value !== '') query.set(name, value)
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

/** Takes these names of an address, and nothing else. */
export function texts<Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown>): { [Each in Name]?: string } => {
    const found: { [Each in Name]?: string } = {}
    for (const name of names) {
      const value = search[name]
      if (typeof value === 'string' && value !== '') found[name] = value
    }
    return found
  }
}

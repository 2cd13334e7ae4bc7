/** Reads the commands of a POSIX shell script as its words, as far as the documentation uses the language. */

export interface ShellCommand {
  /** The variables that are set before the command. */
  readonly variables: readonly string[]
  /** The program and its arguments, without quotes and redirections. */
  readonly words: readonly string[]
}

const token = new RegExp(
  [
    String.raw`(?<space>(?:[ \t]|\\\n)+|#[^\n]*)`,
    String.raw`(?<redirection>\d?(?:>>|>&|<<|>|<)&?)`,
    String.raw`(?<operator>\n|&&|\|\||[;|&(){}])`,
    String.raw`(?<word>(?:'[^']*'|"(?:\\[^]|[^"\\])*"|\$\((?:[^()]|\([^()]*\))*\)|\\[^]|[^\s'"\\;|&()<>])+)`,
  ].join('|'),
  'y',
)
const keywords = new Set(['if', 'then', 'else', 'fi', 'do', 'done', 'while', 'until', 'for', '!', '{', '}'])
const assignment = /^([A-Za-z_]\w*)=/

function unquote(word: string): string {
  return word.replaceAll(/'([^']*)'|"((?:\\[^]|[^"\\])*)"|\\([^])/g, (_whole, single, double, escaped) => {
    if (typeof double === 'string')
      return double.replaceAll(/\\(["\\$`\n])/g, (_, next: string) => (next === '\n' ? '' : next))
    return String(single ?? escaped)
  })
}

function commandOf(words: readonly string[]): ShellCommand | undefined {
  const start = words.findIndex((word) => !keywords.has(word))
  if (start === -1) return undefined
  const rest = words.slice(start)
  const first = rest.findIndex((word) => !assignment.test(word))
  const [assigned, command] = first === -1 ? [rest, []] : [rest.slice(0, first), rest.slice(first)]
  const exported = command[0] === 'export' ? command.slice(1) : []
  return {
    variables: [...assigned, ...exported].flatMap((word) => assignment.exec(word)?.[1] ?? []),
    words: command.map(unquote),
  }
}

/** Throws for what it cannot read. */
export function readShellCommands(script: string): ShellCommand[] {
  const commands: string[][] = [[]]
  let isTarget = false
  for (let at = 0; at < script.length; at = token.lastIndex) {
    token.lastIndex = at
    const { space, redirection, operator, word } = token.exec(script)?.groups ?? {}
    if (redirection !== undefined) isTarget = true
    else if (operator !== undefined) commands.push([])
    else if (word !== undefined) {
      if (!isTarget) commands.at(-1)?.push(word)
      isTarget = false
    } else if (space === undefined) throw new Error(`Unexpected ${JSON.stringify(script.slice(at, at + 20))}`)
  }
  return commands.flatMap((words) => commandOf(words) ?? [])
}

/**
 * The mutants of a file: its text with one operator, constant or condition changed. Texts and types are left alone, because
 * the compiler checks most of them, and so are the arguments of log calls.
 */
import { parseSync, type ESTree } from 'vite'

import { lineAt } from '../support/source-files.ts'

export interface Mutant {
  /** The path from the root. */
  readonly file: string
  readonly line: number
  /** What is replaced, as offsets in the text of the file. */
  readonly start: number
  readonly end: number
  readonly replacement: string
  /** The line of the source, without its indentation: recognizes the mutant when lines move. */
  readonly code: string
  /** `a < b → a <= b` */
  readonly change: string
}

type Node = ESTree.Node
type Replacement = readonly [node: Node, replacement: string]

const negated: Readonly<Record<string, string>> = {
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '===': '!==',
  '!==': '===',
}
const exchanged: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '**': '*',
  '<<': '>>',
  '>>': '<<',
  '&': '|',
  '|': '&',
  '&&': '||',
  '||': '&&',
  '++': '--',
  '--': '++',
  '+=': '-=',
  '-=': '+=',
  '*=': '/=',
  '/=': '*=',
  '??=': '=',
  '&&=': '||=',
  '||=': '&&=',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  some: 'every',
  every: 'some',
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

/** Types, and what only exists for them. Expressions with a type remain. */
function isTyping({ type }: Node): boolean {
  const isExpression = ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'].includes(type)
  return (type.startsWith('TS') && !isExpression) || type.startsWith('Import') || type.startsWith('ExportAll')
}

function isLogCall(node: Node, text: string): boolean {
  if (node.type !== 'CallExpression') return false
  return /(^|[.#])log(ger)?\??\.\w+$/.test(text.slice(node.callee.start, node.callee.end))
}

function isText(node: Node): boolean {
  return (node.type === 'Literal' && typeof node.value === 'string') || node.type === 'TemplateLiteral'
}

/** Whether the value of an expression only decides which way to go: then both ways are mutants already. */
function isCondition(node: Node, parent: Node): boolean {
  return 'test' in parent && parent.test === node
}

class FileMutator {
  readonly #text: string
  readonly replacements: Replacement[] = []

  constructor(text: string) {
    this.#text = text
  }

  walk(node: Node, parent: Node): void {
    if (isTyping(node) || isLogCall(node, this.#text)) return
    this.#mutate(node, parent)
    for (const [name, value] of Object.entries(node)) {
      const isName = (name === 'key' || name === 'property') && !('computed' in node && node.computed)
      if (isName) continue
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) this.walk(child, node)
    }
  }

  #textOf({ start, end }: { readonly start: number; readonly end: number }): string {
    return this.#text.slice(start, end)
  }

  #add(node: Node, replacement: string): void {
    this.replacements.push([node, replacement])
  }

  #mutate(node: Node, parent: Node): void {
    switch (node.type) {
      case 'BinaryExpression':
      case 'LogicalExpression':
        return node.left.type === 'PrivateIdentifier' ? undefined : this.#mutateBinary(node, parent)
      case 'AssignmentExpression': {
        const other = exchanged[node.operator]
        if (other !== undefined && !isText(node.right))
          this.#add(node, `${this.#textOf(node.left)} ${other} ${this.#textOf(node.right)}`)
        return
      }
      case 'UnaryExpression':
        if (node.operator === '-' || (node.operator === '!' && !isCondition(node, parent)))
          this.#add(node, this.#textOf(node.argument))
        return
      case 'UpdateExpression': {
        const [argument, other] = [this.#textOf(node.argument), exchanged[node.operator] ?? '']
        return this.#add(node, node.prefix ? other + argument : argument + other)
      }
      case 'Literal':
        return this.#mutateConstant(node)
      case 'IfStatement':
      case 'ConditionalExpression':
        this.#add(node.test, 'true')
        return this.#add(node.test, 'false')
      case 'WhileStatement':
        return this.#add(node.test, 'false')
      case 'ForStatement':
        return node.test ? this.#add(node.test, 'false') : undefined
      case 'MemberExpression':
        return this.#mutateMethod(node)
      default:
    }
  }

  #mutateBinary(node: Extract<Node, { type: 'BinaryExpression' | 'LogicalExpression' }>, parent: Node): void {
    const { left, right, operator } = node
    if (operator === '??') return this.#add(node, this.#textOf(right))
    if (operator === '+' && (isText(left) || isText(right))) return
    const others = isCondition(node, parent)
      ? [negated[operator] === exchanged[operator] ? undefined : exchanged[operator]]
      : [exchanged[operator], negated[operator]]
    // A line that begins with a parenthesis would continue the one before.
    const isStatement = parent.type === 'ExpressionStatement'
    for (const other of new Set(others)) {
      if (other === undefined) continue
      const between = this.#text.slice(left.end, right.start).replace(operator, other)
      const changed = `${this.#textOf(left)}${between}${this.#textOf(right)}`
      this.#add(node, isStatement ? changed : `(${changed})`)
    }
  }

  #mutateConstant(node: Extract<Node, { type: 'Literal' }>): void {
    const { value } = node
    if (typeof value === 'boolean') this.#add(node, String(!value))
    if (typeof value === 'number') this.#add(node, String(value + 1))
    if (typeof value === 'bigint') this.#add(node, `${value + 1n}n`)
  }

  #mutateMethod(node: ESTree.MemberExpression): void {
    if (node.computed) return
    const other = exchanged[this.#textOf(node.property)]
    const isMath = this.#textOf(node.object) === 'Math'
    const isArray = ['some', 'every'].includes(other ?? '')
    if (other !== undefined && isMath !== isArray) this.#add(node.property, other)
  }
}

function shorten(code: string): string {
  return code.replaceAll(/\s+/g, ' ')
}

/** All mutants of a file. Throws if its text has no valid syntax. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors.map(({ message }) => message).join(', ')}`)
  const mutator = new FileMutator(text)
  mutator.walk(program, program)
  return mutator.replacements.map(([{ start, end }, replacement]) => {
    const line = lineAt(text, start)
    const code = (text.split('\n')[line - 1] ?? '').trim()
    const change = `${shorten(text.slice(start, end))} → ${shorten(replacement)}`
    return { file, line, start, end, replacement, code, change }
  })
}

/** The text of the file with the change. */
export function applyMutant(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end)
}

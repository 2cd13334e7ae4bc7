/**
 * The blocks of code in the READMEs and the documentation. Each has a tag after its language: `run` (a test runs it),
 * `check` (a test parses it and verifies the commands, options and fields in it) or `text` (it is only shown).
 */
import { globSync } from 'node:fs'

import { lineAt, readText, root } from './source-files.ts'

export const snippetTags = ['run', 'check', 'text'] as const

export interface Snippet {
  readonly page: string
  readonly line: number
  readonly language: string
  /** What follows the language: one of `snippetTags`, if it is right. */
  readonly tag: string
  /** Without the indentation of the block. */
  readonly code: string
}

/** Decisions are about code of their time. */
export function snippetPages(): string[] {
  return globSync(['README*.md', 'docs/**/*.md'], { cwd: root, exclude: ['docs/decisions/**'] }).toSorted()
}

export function readSnippets(page: string): Snippet[] {
  const text = readText(page)
  const blocks = text.matchAll(/^( *)```(\S*) *([^\n]*)\n(.*?)^\1``` *$/gms)
  return Array.from(blocks, ({ index, 1: indent = '', 2: language = '', 3: tag = '', 4: code = '' }) => ({
    page,
    line: lineAt(text, index),
    language,
    tag: tag.trim(),
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }))
}

export function formatPlace({ page, line }: Snippet): string {
  return `${page}:${line}`
}

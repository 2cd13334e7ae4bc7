/** Text that storing or comparing might change: escapes, separators of rows and fields, and text that is not valid. */
export const hostileTexts: readonly string[] = [
  'half \ud83d',
  '\ude00\ud83d reversed',
  'zero\0byte',
  'whole 😀, 谢谢, e\u0301, \u202Eright to left',
  'quotes \' " ` $$ $1 ?, and back\\slashes \\u0000 \\ud83d \\N \\.',
  '{"a"}, {NULL}, null',
  'tab\tline\nreturn\rform\fescape\u001B\u007F',
  'unit\u001Fseparator\u001F\n',
  '\uFEFF\uFFFE\uFFFF\u{10FFFF}\u2028\u2029',
  ` ${'long '.repeat(20_000)}`,
]

/** What is wrong with a field of prices, in Simplified Chinese; follows the field's label. */
export const priceReasons: readonly (readonly [RegExp, string])[] = [
  [/^is required, since the base price has it$/, '为必填项，因为基础价格中有此项'],
  [/^must not repeat a number of input tokens$/, '输入 Token 数不能重复'],
  [/^is not a service tier with a price of its own$/, '不是可单独定价的服务等级'],
  [/^must not name both fast and priority, which are the same$/, 'fast 与 priority 相同，不能同时设置'],
  [/^is not the name of a tool$/, '不是有效的工具名称'],
  [/^must be an amount: only (\w+) has classes$/, '必须是金额：只有 $1 可按质量和尺寸定价'],
  [/^repeats an earlier class$/, '与前面的质量和尺寸重复'],
  [/^must not be auto: leave it out$/, '不能为 auto，请省略'],
  [/^must be at most (\d+) letters, digits and \. _ : -$/, '最多 $1 个字符，只能包含字母、数字和 . _ : -'],
]

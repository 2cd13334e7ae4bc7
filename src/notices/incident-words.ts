/** The words of notices about incidents, availability and our public addresses; see words.ts. */

/** What a person tells of an incident: the state it is in now, and the person's own words. */
function told(english: string, chinese: string) {
  return {
    en: { title: `${english}: {title}`, text: '{message}' },
    'zh-CN': { title: `${chinese}：{title}`, text: '{message}' },
  }
}

function burning(english: string, chinese: string) {
  return {
    en: {
      title: 'Too many requests to {model} fail',
      text: `Over the last ${english} they failed {burn} times faster than its objective of {objective}% allows.`,
    },
    'zh-CN': {
      title: '模型 {model} 的失败请求过多',
      text: `过去 ${chinese}内的失败速度是其目标（{objective}%）所允许的 {burn} 倍。`,
    },
  }
}

export const incidentWords = {
  model_failing: {
    en: {
      title: 'Requests to {model} are failing',
      text: 'They fail more often than the model’s objective allows, since {since:time}. You will be told when it is over.',
    },
    'zh-CN': {
      title: '模型 {model} 的请求正在失败',
      text: '自 {since:time} 起，失败次数超过该模型目标所允许的范围。恢复后会另行通知。',
    },
  },
  model_well: {
    en: {
      title: '{model} answers again',
      text: 'Requests are answered as they should be. The incident lasted from {since:time} to {until:time}.',
    },
    'zh-CN': {
      title: '模型 {model} 已恢复',
      text: '请求已恢复正常。故障时间为 {since:time} 至 {until:time}。',
    },
  },
  model_quiet: {
    en: {
      title: 'No more requests to {model} fail',
      text: 'There were no requests to it for a while, so the incident of {since:time} is closed.',
    },
    'zh-CN': {
      title: '模型 {model} 不再有失败的请求',
      text: '已有一段时间没有请求，{since:time} 开始的故障现已关闭。',
    },
  },
  incident_investigating: told('Under investigation', '正在调查'),
  incident_identified: told('Cause identified', '已查明原因'),
  incident_monitoring: told('Being watched', '正在观察'),
  incident_resolved: told('Resolved', '已解决'),
  fast_burn: burning('hour', '1 小时'),
  slow_burn: burning('six hours', '6 小时'),
  address_down: {
    en: {
      title: 'A public address does not answer',
      text: '{url} could not be reached from the relay itself: {problem}.',
    },
    'zh-CN': {
      title: '公网地址无法访问',
      text: '中继自身无法访问 {url}：{problem}。',
    },
  },
  address_up: {
    en: { title: 'A public address answers again', text: '{url} can be reached again.' },
    'zh-CN': { title: '公网地址已恢复', text: '{url} 已可重新访问。' },
  },
}

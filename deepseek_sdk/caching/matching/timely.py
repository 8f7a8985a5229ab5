"""Patterns of questions whose answers change with the hour, and of those whose answers are one person's."""

from __future__ import annotations

from typing import Final

__all__ = ["GENERAL", "HOW", "NOT_VOLATILE", "PERSONAL", "VOLATILE"]

_SPAN = r"(?:week|weekend|month|year|quarter|season|semester|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_STATE = (
    r"(?:price|rate|rates|value|cost|time|date|weather|temperature|president|prime minister|ceo|champion|version|status"
    r"|population|exchange rate|stock price|market|score|standings|leader|holder|record|situation|events?|news)"
)
_THING = (
    r"(?:orders?|account balance|balance|packages?|parcels?|shipments?|deliver(?:y|ies)|refunds?|subscriptions?"
    r"|invoices?|bills?|payments?|bookings?|reservations?|tickets?|appointments?|schedule|calendar|inbox|e?mails?"
    r"|messages?|files?|profile|plan|membership|points|cart|wishlist|transactions?|usage|quota|credits?|claims?"
    r"|bank account|account number"
    r"|application|statement|salary|grades?|flight|trip|itinerary|birthday|to-?do list|tasks?|meetings?|purchases?)"
)
_CHINESE_THING = (
    r"(?:订单|外卖|银行卡|快递|包裹|物流|账单|余额|额度|积分|会员|行程|日程|日历|预约|工单|退款|工资|成绩|申请|保单|发票|邮件|收件箱"
    r"|话费|流量|公积金|社保|信用分|名字|生日|待办|任务|会议|购物车|优惠券|套餐|账户|帐户|账号|帐号|航班|机票|火车票|贷款"
    r"|还款|用量|消费)"
)
_HOW = (
    r"(?:how (?:do|can|to|should|would|could|long does|much does)|steps?\b|ways?\b|can (?:i|you explain)|could i"
    r"|is it possible|what happens|do i need|should i|where (?:can|do|should) i"
    r"|what(?:'s| is) the (?:best |easiest |right )?(?:way|procedure|process|difference|policy)"
    r"|what (?:should|can|do|to) (?:i )?(?:do )?(?:if|when|about)?)"
)

# What makes the answer of a question one of the hour.
VOLATILE: Final = (
    r"(?<![\w.'])(?<!usa )today(?!\w|\(|'s (?:world|society|age|youth|generation|economy|standards|show))",
    r"\b(?:tonight|tomorrow|yesterday|right now|just now|at the moment|as of (?:now|today)|last night)\b(?!\()",
    r"\bthis (?:morning|afternoon|evening)\b",
    rf"\b(?:this|last|next|past|coming) {_SPAN}\b(?! of\b)",
    r"(?<!what )(?<!until )\bnow\b(?! (?:on|what|you)\b)|\bat (?:present|this (?:moment|time|point))\b|\bthese days\b",
    r"\bcurrently\b|\bnowadays\b|\bup to date\b",
    rf"\b(?:current|latest|newest|most recent|live|real-?time|up-to-date) {_STATE}\b",
    r"(?<!at the )\b(?:latest|newest|most recent)\b",
    r"(?<!fake )\bnews\b(?! (?:anchor|agency|channel|reporter|article)s?\b)|\bheadlines\b",
    r"\bwhat(?:'s| is| will be)? the weather\b|\bweather (?:in|at|like|forecast)\b",
    r"\b(?:will|is) it (?:going to )?(?:rain|snow)",
    r"\bwhat (?:time|day|date|year|month) is it\b|\bwhat(?:'s| is) the (?:time|date)\b",
    r"\b(?:stock|share|gold|silver|oil|bitcoin|btc|ethereum|gas) prices?\b(?! (?:theory|index|mean))",
    r"\bexchange rate (?:of|for|between)\b",
    r"\b(?:days|weeks|months|hours) (?:until|till|to go)\b|\bhow long (?:until|till)\b",
    r"今天|今日(?!头条|说法|关注|影评)|今晚|今早|今夜|今儿|今年",
    r"明天|明日(?!方舟|香|之后|之子|花绮罗|战记)|明晚|明早|明年|昨天|昨日(?!重现|青空)|昨晚|昨夜",
    r"前天|(?<!先天)(?<!先天和)(?<!先天与)(?<!先天还是)后天(?!性|的努力|免疫|形成|获得|教育|环境|培养|失调|习得)",
    r"去年|前年(?!龄)|后年(?!龄)|(?:[这本上下])(?:个)?(?:周|星期|礼拜|月|季度|学期|周末)(?!初|[一二三四五六]?个)",
    r"现在(?!完成|进行|时态|分词|一般|主义|时(?!间|候|刻))|此刻|眼下|目前|如今|时下|当下(?!属)",
    r"刚才|刚刚(?!好)|这会儿|现今|眼前",
    r"当前(?!目录|页|行|用户|路径|分支|线程|进程|节点|元素|文件|文件夹|窗口|位置|工作|类|对象|作用域|指针|时间戳)",
    r"最新|实时(?!操作系统|系统|渲染|计算|数据库)|近日|近期|近几天|这几天|这两天|最近(?!公共|邻|的?点|距离)",
    r"天气(?:怎么样|如何|预报|好吗|咋样|情况)|天气[?!。]*$|(?:会|要)不会?下[雨雪]|下[雨雪]吗",
    r"(?:比特币|黄金|白银|原油|美元|欧元|日元|英镑|股票)的?(?:价格|行情|汇率|走势)|距?离.{1,12}还有(?:几|多少|多久)",
    r"几点了|几点钟了|星期几|几月几[号日]|限行(?:尾号)?",
    r"(?:股价|金价|油价|汇率|币价|行情|比分|路况|热搜|余票|开奖|中奖号码)(?:是?多少|怎么样|如何|查询|结果)?$",
)
# Where those words are the matter of the question: grammar, translation, a title.
NOT_VOLATILE: Final = (
    r"\btranslat|\bhow (?:do|to|would|can) (?:you|i|we)? ?say\b|\btense\b|\bgramma|\bsynonym|\bantonym",
    r"翻译|译成|怎么说|怎么读|怎么写|怎么念|造句|改写|润色|什么意思|近义词|反义词|同义词|时态|语法|网名|歌词|是什么歌",
)
# What makes the answer of a question that of one person.
PERSONAL: Final = (
    rf"\bmy (?:[\w-]+ ){{0,2}}?{_THING}\b",
    r"\b(?:did|have|do|am|was|can) i (?:owe|have left|order|ordered|buy|bought|pay|paid|spend|spent)\b",
    r"\bdid i (?:just |already )?(?:ask|say|tell|write)\b",
    r"\b(?:am|was) i (?:approved|eligible|enrolled|registered)\b",
    r"\b(?:remind me|what(?:'s| is) my (?:name|age|location)|who am i|about me)\b",
    rf"我(?:们)?(?:的|这个|那个|刚才的|上次的|这个月的?|本月的?|今天的)?(?:手机)?{_CHINESE_THING}",
    r"我(?:还|一共|总共|现在)?(?:有|剩|欠|用了|买了|花了|存了|下了)(?:多少|几)|我(?:叫|是)(?:什么名字|谁)",
)
# Where such a question is one that anybody might ask: how it is done, what to do if.
GENERAL: Final = (
    rf"^\W*(?:hi|hello|please|so|and)?\W*{_HOW}",
    r"\bhow (?:do|can|should|to|could) (?:i |we )?(?!much|many)\w+",
    r"怎么(?!还|没|不|这么|那么|样|回事|了|又|一直|都|就|会)|如何|怎样(?:才|能|可以)?|咋(?!还|没|不|样|回事)",
    r"能不能|可不可以|流程|步骤|方法",
)
# Where it is for everybody even if it is known who asks, and no number says which order is meant.
HOW: Final = (
    r"^[^\d]*\bhow (?:do|can|to|should|would) (?!much|many)[^\d]*$",
    r"^[^\d]*(?:怎么(?!还|没|不|这么|那么|样|回事|了|又|一直|都|就|会)|如何|怎样(?:才|能|可以)?)[^\d]*$",
)

"""What the needle benchmark makes its documents of, and the facts that it hides in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


@dataclass(frozen=True)
class Fact:
    """A fact, what of it has to be found again, and three questions about it."""

    text: str
    answer: str
    lexical: str
    paraphrase: str
    none: str


@dataclass(frozen=True)
class Filler:
    """What the rest of a document is made of: words by topic, and shapes of sentences."""

    topics: tuple[tuple[str, ...], ...]
    verbs: tuple[str, ...]
    shapes: tuple[str, ...]
    between: str

    def sentence(self, topic: tuple[str, ...], rng: random.Random) -> str:
        """Write a sentence about a topic."""
        one, two, three = rng.sample(topic, 3)
        number = rng.randint(2, 900)
        verb, other = rng.sample(self.verbs, 2)
        return rng.choice(self.shapes).format(a=one, b=two, c=three, v=verb, w=other, n=number)


def words(*lists: str) -> tuple[tuple[str, ...], ...]:
    """Take lists of words apart."""
    return tuple(tuple(listed.split()) for listed in lists)


FILLERS = {
    "en": Filler(
        topics=words(
            "harvest field tractor barn wheat soil farmer orchard fence cattle plough seed",
            "engine piston valve turbine gear bearing cylinder mechanic pump shaft rotor belt",
            "court judge contract clause lawyer witness verdict appeal jury statute hearing claim",
            "orchestra violin melody rehearsal conductor concert rhythm chorus score cello tempo hall",
            "patient nurse clinic dose fever surgeon ward vaccine symptom therapy pulse scan",
            "market trader bond share dividend broker ledger margin currency profit index fund",
            "glacier ridge summit valley avalanche climber rope camp snow crevasse slope storm",
            "kitchen oven recipe pepper sauce butter spoon chef flavour dough pan dessert",
            "server network packet router latency cluster backup kernel cable firewall queue disk",
            "museum painting curator gallery canvas sculpture exhibit portrait frame collector sketch vault",
        ),
        verbs=words("follows changes supports replaces measures delays protects explains limits improves")[0],
        shapes=(
            "The {a} {v} the {b} near the {c}.",
            "In {n} cases the {a} {v} a {b}, and the {c} {w} it.",
            "Nobody doubts that the {a} {v} the {b}.",
            "After {n} days the {a} of the {b} {v} the {c}.",
            "A {a} that {v} the {b} hardly ever {w} the {c}.",
            "What the {a} {v}, the {b} {w} as well.",
        ),
        between=" ",
    ),
    "zh": Filler(
        topics=words(
            "小麦 农田 果园 牲畜 播种 灌溉 谷仓 肥料 收割机 农户",
            "发动机 活塞 阀门 齿轮 轴承 涡轮 水泵 皮带 技师 转子",
            "法庭 合同 条款 证人 判决 上诉 律师 陪审团 诉讼 听证会",
            "乐团 提琴 旋律 排练 指挥 音乐会 节奏 合唱 乐谱 剧场",
            "病人 护士 诊所 药剂 发烧 手术 病房 疫苗 症状 疗程",
            "市场 债券 股息 账本 汇率 利润 基金 指数 经纪人 保证金",
            "冰川 山脊 峰顶 山谷 雪崩 登山者 绳索 营地 裂缝 暴风雪",
            "厨房 烤箱 菜谱 胡椒 酱汁 黄油 汤勺 厨师 面团 甜点",
            "服务器 网络 数据包 路由器 延迟 集群 备份 内核 防火墙 磁盘",
            "博物馆 油画 馆长 展厅 画布 雕塑 展品 肖像 收藏家 素描",
        ),
        verbs=words("影响 改变 支撑 取代 衡量 推迟 保护 说明 限制 改善")[0],
        shapes=(
            "{a}{v}了{b}附近的{c}。",
            "在{n}个案例中，{a}{v}{b}，而{c}{w}它。",
            "没有人怀疑{a}会{v}{b}。",
            "过了{n}天，{b}的{a}{v}了{c}。",
            "能够{v}{b}的{a}很少{w}{c}。",
            "{a}所{v}的，{b}也在{w}。",
        ),
        between="",
    ),
}

FACTS = {
    "en": (
        Fact(
            "The spare key of the lighthouse hangs behind the blue clock.",
            "behind the blue clock",
            "Where does the spare key of the lighthouse hang?",
            "How do I get into the lighthouse without mine?",
            "My way into that tower on the cliff is lost; who or what helps?",
        ),
        Fact(
            "Ambassador Okonkwo takes her tea with cardamom and no sugar.",
            "cardamom and no sugar",
            "How does Ambassador Okonkwo take her tea?",
            "What should be poured for Okonkwo?",
            "Which hot drink pleases our diplomatic guest?",
        ),
        Fact(
            "The password for the Zephyr archive is marmalade-forty.",
            "marmalade-forty",
            "What is the password for the Zephyr archive?",
            "How can Zephyr be unlocked?",
            "Which secret word opens those old files?",
        ),
        Fact(
            "Flight Q713 was moved to gate nineteen because of a burst pipe.",
            "gate nineteen",
            "To which gate was flight Q713 moved?",
            "Where do passengers of Q713 board?",
            "Our plane leaves from somewhere else now: from where?",
        ),
        Fact(
            "The twins were born during the eclipse of 1973.",
            "eclipse of 1973",
            "When were the twins born?",
            "How old could the twins be?",
            "What year did both siblings come into this world?",
        ),
        Fact(
            "Mister Vandermeer buried the coins under the third birch.",
            "under the third birch",
            "Where did Mister Vandermeer bury the coins?",
            "What has Vandermeer done with his savings?",
            "At which tree would somebody dig for treasure?",
        ),
        Fact(
            "The ferry to Saint Brandan runs only on Thursdays.",
            "only on Thursdays",
            "When does the ferry to Saint Brandan run?",
            "Can somebody reach Brandan at weekends?",
            "What weekday has boats going out to that island?",
        ),
        Fact(
            "Doctor Ilunga is allergic to penicillin.",
            "allergic to penicillin",
            "What is Doctor Ilunga allergic to?",
            "Which medicine must Ilunga never get?",
            "What drug could harm our physician?",
        ),
        Fact(
            "The prototype failed at minus forty-one degrees.",
            "minus forty-one degrees",
            "At how many degrees did the prototype fail?",
            "How cold was it for the prototype?",
            "What temperature broke this early model?",
        ),
        Fact(
            "Captain Hollis left the Meridian in Valparaiso.",
            "in Valparaiso",
            "Where did Captain Hollis leave the Meridian?",
            "Which port saw Hollis for the last time?",
            "What harbour did our skipper walk away from his ship?",
        ),
        Fact(
            "The recipe of the Quincy syrup needs eleven juniper berries.",
            "eleven juniper berries",
            "What does the recipe of the Quincy syrup need?",
            "How is Quincy made?",
            "Which fruit goes into this sweet liquid, and how much of it?",
        ),
        Fact(
            "Section 88 of the Tamarind agreement expires in October.",
            "expires in October",
            "When does section 88 of the Tamarind agreement expire?",
            "How long is Tamarind valid?",
            "What month will this paragraph stop being binding?",
        ),
    ),
    "zh": (
        Fact(
            "灯塔的备用钥匙挂在蓝色挂钟后面。",
            "蓝色挂钟后面",
            "灯塔的备用钥匙挂在哪里？",
            "没带东西怎么进灯塔？",
            "海边高楼打不开门怎么办？",
        ),
        Fact(
            "欧阳大使喝茶要放豆蔻，不加糖。",
            "豆蔻，不加糖",
            "欧阳大使喝茶要放什么？",
            "给欧阳准备什么饮料？",
            "外交官客人口味如何？",
        ),
        Fact(
            "西风档案库的口令是橘酱四十。",
            "橘酱四十",
            "西风档案库的口令是什么？",
            "怎样打开西风？",
            "旧资料用哪个密码解锁？",
        ),
        Fact(
            "因为水管爆裂，七一三航班改到十九号登机口。",
            "十九号登机口",
            "七一三航班改到哪个登机口？",
            "坐七一三的乘客去哪里？",
            "咱们飞机换了什么位置？",
        ),
        Fact(
            "那对双胞胎出生在一九七三年日食那天。",
            "一九七三年日食",
            "那对双胞胎出生在什么时候？",
            "双胞胎今年多大？",
            "兄弟俩生日是哪天来着？",
        ),
        Fact(
            "范德梅先生把金币埋在第三棵白桦树下。",
            "第三棵白桦树下",
            "范德梅先生把金币埋在哪里？",
            "范德梅的积蓄去了何处？",
            "想挖宝藏该到什么植物旁边？",
        ),
        Fact(
            "去圣布兰登岛的渡轮只在星期四开。",
            "只在星期四开",
            "去圣布兰登岛的渡轮什么时候开？",
            "周末能到圣布兰登吗？",
            "哪天有船可以坐？",
        ),
        Fact(
            "伊隆加医生对青霉素过敏。",
            "对青霉素过敏",
            "伊隆加医生对什么过敏？",
            "哪种药不能给伊隆加？",
            "咱们大夫忌用何物？",
        ),
        Fact(
            "样机在零下四十一度时失灵。",
            "零下四十一度",
            "样机在多少度时失灵？",
            "样机怕多冷？",
            "早期机器什么温度坏掉？",
        ),
        Fact(
            "霍利斯船长在瓦尔帕莱索离开了子午线号。",
            "在瓦尔帕莱索",
            "霍利斯船长在哪里离开了子午线号？",
            "霍利斯最后到过哪座港口？",
            "领航人从何处弃船上岸？",
        ),
        Fact(
            "昆西糖浆的配方需要十一颗杜松子。",
            "十一颗杜松子",
            "昆西糖浆的配方需要什么？",
            "昆西怎么做？",
            "那种甜液体用几个果实？",
        ),
        Fact(
            "罗望子协议第八十八条十月到期。",
            "十月到期",
            "罗望子协议第八十八条什么时候到期？",
            "罗望子的效力有多久？",
            "约定哪个月失效？",
        ),
    ),
}

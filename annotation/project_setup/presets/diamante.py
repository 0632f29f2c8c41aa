"""Authoring as in Diamante (Lu et al., §2.1 and Appendix B)."""

from django.utils.translation import gettext_lazy

from annotation.project_setup.presets.preset import Preset, TopicIdea
from projects.models import Protocol

GUIDELINES_EN = """\
# What you make

A chat between two people, A and B. You write both sides, at least seven rounds (a round is one utterance of A and
one of B).
From the second utterance on, the model offers seven candidate replies at every turn. Use them as far as they are good,
and not a step further.

# The opening

Write about anything that people talk about: your day, a pet, a film, a worry. Be concrete. “My cat is shedding all
over the sofa, what can I do?” starts a conversation; “Hello” does not. Topic ideas are offered; you need not take one.

# Every turn

- **Select** a candidate if you would have said it yourself.
- **Revise** it if the idea is good and something is wrong: a contradiction, a wrong fact, a dull ending.
- **Rewrite** if none fits. Write what this person would say.

The page sees from your text which of the three it was. You never have to say it.

# A good utterance

- fits everything said so far: nobody changes pet, city or opinion without a reason
- carries something: an experience, a detail, a question worth answering
- sounds like a person in a chat: short, natural, friendly
- is safe: no insults, no private data, no advice that may do harm

# Do not

- paste text from elsewhere, or let both sides agree politely for seven rounds
- use real names, phone numbers, addresses
- leave spelling mistakes standing, also in a candidate that you select

# What happens next

Experts read every dialogue. If one of them vetoes it, it leaves the data, and you see the reason in your queue.
"""

GUIDELINES_ZH = """\
# 你要做什么

写一段 A、B 两人的闲聊。两边的话都由你来写，至少七轮（A、B 各说一句为一轮）。
从第二句起，模型每次给出七条候选回复：好的就用，不好的不必迁就。

# 开场白

写大家平时会聊的事：今天的见闻、家里的宠物、一部电影、一点烦恼。要具体。“春天我家猫掉毛掉得到处都是，有什么办法吗？”
能聊下去，“你好”聊不下去。页面提供话题参考，用不用随你。

# 每一句

- **选用**：某条候选回复正是你想说的话。
- **修改**：想法不错，但有毛病：前后矛盾、事实有误、收尾无趣。
- **重写**：没有一条合适，就写这个人会说的话。

属于哪一种，页面会根据最终文字自动判断，你不用选择。

# 好的话语

- 与前文一致：宠物、城市、看法不会无缘无故改变
- 有内容：一段经历、一个细节、一个值得回答的问题
- 像真人聊天：简短、自然、友善
- 安全：没有侮辱，没有隐私信息，没有可能造成伤害的建议

# 请不要

- 从别处粘贴文字，或者让双方客客气气地附和七轮
- 使用真实姓名、电话、住址
- 留下错别字，选用的候选回复里有错字也要改

# 写完之后

专家会通读每段对话。只要有一位专家否决，对话就会从数据中移除，你会在队列里看到原因。
"""

_EN = [
    ("Pets", "My cat started shedding everywhere this spring. How do you deal with it?"),
    ("Food", "I tried to bake bread for the first time and it came out hard as a brick."),
    ("Weather", "It has rained for six days and my laundry will not dry."),
    ("Work", "Our office moved, and now I spend an hour and a half on the train every morning."),
    ("Films", "I watched an old black-and-white film last night and cried like a child."),
    ("Sport", "I signed up for a half marathon and have not run a single step yet."),
    ("Travel", "I have four free days in October and no idea where to go."),
    ("Study", "My exam is on Monday and I only opened the book today."),
    ("Home", "My neighbour practises the violin at midnight."),
    ("Music", "I bought a second-hand guitar, and my fingers already hurt."),
    ("Family", "My grandmother has learned to send voice messages and now sends twenty a day."),
    ("Shopping", "The shoes looked red in the shop and they are orange at home."),
]
_ZH = [
    ("宠物", "春天我家猫开始掉毛了，有啥好办法吗，到处都是"),
    ("美食", "我第一次在家做红烧肉，糖色炒糊了，一锅都是苦的"),
    ("天气", "连着下了六天雨，衣服怎么都晾不干"),
    ("工作", "公司搬家以后，我每天上班要坐一个半小时地铁"),
    ("电影", "昨晚翻出一部老电影，看到最后哭得稀里哗啦"),
    ("运动", "报名了半程马拉松，可是一步还没跑过"),
    ("旅行", "十月能凑出四天假，不知道去哪儿好"),
    ("学习", "周一就考试了，书今天才翻开"),
    ("居家", "楼上邻居半夜还在练小提琴"),
    ("音乐", "买了把二手吉他，才练两天手指就疼得不行"),
    ("家人", "奶奶学会发语音了，一天给我发二十条"),
    ("购物", "鞋子在店里看着是红的，拿回家一看是橘色"),
]

PRESET = Preset(
    protocol=Protocol.AUTHORING,
    guidelines_en=GUIDELINES_EN,
    guidelines_zh=GUIDELINES_ZH,
    title=gettext_lazy("Diamante: write with candidates"),
    explanation=gettext_lazy(
        "Two roles chat, one person writes both: they take, correct or replace one of seven replies of a model, and "
        "experts pass or veto each finished dialogue."
    ),
    paper="Lu et al., Towards Boosting the Open-Domain Chatbot with Human Feedback",
    topics=tuple(TopicIdea("en", *topic) for topic in _EN) + tuple(TopicIdea("zh", *topic) for topic in _ZH),
)

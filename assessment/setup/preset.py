"""The preset `live-assessment` (Ji et al., Achieving Reliable Human Assessment of Open-Domain Dialogue Systems)."""

from dataclasses import asdict
from typing import Final

from django.utils.translation import gettext_lazy

from annotation.project_setup.presets.preset import Preset
from assessment.setup.models import Statement
from projects.models import DialogueLanguage, Protocol

LANGUAGE: Final = (
    "{language}"  # in a statement; replaced by the name of the language, see assessment.setup.wording
)
# Of the language that people chat in, by it: in English and in Chinese. A study in several languages has no fixed name.
LANGUAGE_NAMES: Final = {
    DialogueLanguage.ENGLISH: ("English", "英语"),
    DialogueLanguage.CHINESE: ("Chinese", "中文"),
}

# Figure 1 of the paper, in its order.
STATEMENTS: Final = (
    Statement(
        "robotic",
        "It was obvious that I was talking to a chatbot as opposed to another human user.",
        "很明显，和我聊天的是聊天机器人，而不是真人。",
        is_reversed=True,
        in_reliability_test=False,
    ),
    Statement(
        "interesting", "The conversation with the chatbot was interesting.", "和聊天机器人的对话很有意思。"
    ),
    Statement(
        "fun", "The conversation with the chatbot was fun/enjoyable.", "和聊天机器人的对话很好玩、令人愉快。"
    ),
    Statement(
        "consistent",
        "The chatbot was consistent throughout the conversation.",
        "聊天机器人在整段对话中前后一致。",
    ),
    Statement(
        "fluent",
        f"The chatbot's {LANGUAGE} was fluent and natural throughout the conversation.",
        f"聊天机器人的{LANGUAGE}在整段对话中流畅自然。",
    ),
    Statement(
        "repetitive",
        "I felt that the chatbot kept being repetitive during the conversation.",
        "我觉得聊天机器人在对话中总是重复。",
        is_reversed=True,
        in_reliability_test=False,
    ),
    Statement("topic", "The chatbot stays on topic.", "聊天机器人没有偏离话题。"),
)
STATEMENTS_JSON: Final = [asdict(statement) for statement in STATEMENTS]
PARAMETER_NAMES: Final = {"participant": "PROLIFIC_PID", "study": "STUDY_ID", "session": "SESSION_ID"}

CONSENT_EN: Final = """\
In this study you chat with several chatbots and then say what you think of each conversation.

We store what you write, your answers, how long you type, whether you paste text (its length only), and whether you
leave the page. We do not ask for your name. Please do not write anything that identifies you or other people.

Taking part is voluntary. You can stop at any time.
"""
CONSENT_ZH: Final = """\
在这项研究中，你会和几个聊天机器人聊天，并在每段对话之后说说你的看法。

我们会保存你写的内容、你的回答、打字所用的时间、是否粘贴过文字（只记录长度）以及是否离开过页面。我们不会询问你的姓名。
请不要写下能识别你或他人身份的信息。

参加与否完全自愿，你可以随时退出。
"""
# The words in braces come from the settings: see assessment.setup.instructions.
GUIDELINES_EN: Final = """\
# What you do

You have **{conversations}** with different chatbots, and rate each one right after it.

1. Before a conversation, {topic}, and say what you think of it.
2. Chat. Write at least **{messages}**; a counter shows how many remain. The chatbot may take a few seconds to reply.
3. The current topic stays visible. If you or the chatbot change it, update it with the button **Change topic**.
4. After the chat, say how much you agree with {statements}, by moving a slider.

# What makes a useful conversation

Talk to the chatbot as you would to a person whom you want to get to know. Answer what it says, ask back, and do not
repeat yourself. “Hi” ten times, or answers that ignore the chatbot, tell us nothing.

# At the end

There is a box for your feedback. Then you get your completion code.
"""
GUIDELINES_ZH: Final = """\
# 你要做什么

你将和不同的聊天机器人进行 **{conversations}**，每段结束后立即评分。

1. 对话开始前，{topic}，并说明你对它的看法。
2. 开始聊天。至少发送 **{messages}**，计数器会显示还剩几条。聊天机器人可能需要几秒钟才回复。
3. 当前话题会一直显示。无论是你还是聊天机器人换了话题，都请用**更换话题**按钮更新。
4. 聊完之后，拖动滑块，表示你对 {statements} 的同意程度。

# 怎样的对话有用

把聊天机器人当作一个你想认识的人。回应它说的话，向它提问，不要重复自己。连发十次“你好”，或者完全不理会对方的回答，
对我们没有帮助。

# 最后

有一个意见框供你反馈，之后你会得到完成代码。
"""

LIVE_ASSESSMENT: Final = Preset(
    protocol=Protocol.ASSESSMENT,
    guidelines_en=GUIDELINES_EN,
    guidelines_zh=GUIDELINES_ZH,
    title=gettext_lazy("Live assessment: rate chatbots"),
    explanation=gettext_lazy(
        "Invited people chat with each system and rate statements about it; whoever cannot tell a bad system from the "
        "others does not count."
    ),
    paper="Ji et al., Achieving Reliable Human Assessment of Open-Domain Dialogue Systems",
)

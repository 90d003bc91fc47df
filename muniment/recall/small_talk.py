"""
What people say in conversations, of everything and nothing.

Whatever is said in a conversation is near in meaning to any other talk, and so to every
memory that sounds like talk. What is like these, too, is not what it is about.
"""

from typing import Final


SMALL_TALK: Final = (
    "最近工作特别忙，每天加班到十点。",
    "I want to buy a new computer. Which one would you take?",
    "周末打算去爬山，不知道天气怎么样。",
    "It is my mother's birthday next month and I have no idea what to give her.",
    "昨晚又没睡好，今天一整天都没精神。",
    "I'm about to move, the new flat is closer to the office.",
    "医生说我血压有点高，要少吃盐。",
    "My courses are so hard this term, I don't understand a thing.",
    "我在学做红烧肉，今天做糊了。",
    "My flight is three hours late, I'm still at the airport.",
    "我跟女朋友吵架了，她不理我。",
    "I spent far too much this month, I need to keep track of it.",
    "我家孩子不爱写作业，怎么说都不听。",
    "Our team won yesterday, everybody was over the moon!",
    "你能帮我改一下简历吗？",
    "It rained today and I had forgotten my umbrella, I got soaked.",
)
"""Many short ones of as many subjects: a few would take their subjects away with them."""

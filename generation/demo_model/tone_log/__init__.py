"""A log in which only the context decides: scripted annotators who keep the tone of the conversation.

In the demo log (`generation.demo_model.demo_log`) n-grams of a reply tell whether the script preferred it, so that a
model may rank well without having read anything. Here no rule about the reply alone can be better than chance, and
nothing but the context can:

- *Tone*: every message of a dialogue ends in the same way, in one of eight (`annotator.TONES`), drawn for the dialogue.
- *Candidates*: at every turn the demo model gives replies to what was said so far, without the tones, so that it cannot
  know them. Those that come most readily are kept, and each gets a tone, all of them different.
- *What is said*: any of these replies, drawn blindly, in the tone of the dialogue; no other text of the turn has that
  tone. Texts count as selected, revised or rewritten by the product's rule: is it displayed, or near one of those?

Every tone is that of equally many dialogues of a split, and only its tone sets what is said apart from the other texts
of its turn. No text of one split occurs in another. `python -m generation.demo_model.tone_log` writes the log, which is
not shipped. No person wrote or judged any of it, and every row says so (`"scripted": true`).
"""

from typing import Final

DIALOGUES: Final = 192

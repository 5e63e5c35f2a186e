"""Text to tokens and back, for training. Invariant: the ids trained on are the ids sampled.

Only this package turns instructions, observations and actions into chat messages and ids. Sampled ids are appended as
they are and never made again from their text; an observation is encoded on its own, so that markers written in it stay
ordinary text; masks come from positions. Neither torch nor a tokenizer library is imported here.
"""

from agentenv.transcript.formats import ChatFormat, CompactFormat, Exchange
from agentenv.transcript.history import Transcript
from agentenv.transcript.rows import TokenRow, rows_of
from agentenv.transcript.template import ChatTemplateFormat

__all__ = ["ChatFormat", "ChatTemplateFormat", "CompactFormat", "Exchange", "TokenRow", "Transcript", "rows_of"]

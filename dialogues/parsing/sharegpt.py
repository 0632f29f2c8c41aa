"""`sharegpt`: {"id"?, "conversations": [{"from", "value"}], …}, one a line."""

from dialogues.parsing.jsonl import jsonl_reader
from dialogues.parsing.messages import converter

read = jsonl_reader(converter("conversations", "from", "value"))

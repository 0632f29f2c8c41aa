"""`sharegpt`: {"id"?, "conversations": [{"from", "value"}], …}, one a line."""

from dialogues.parsing.json_dialogues import utterance_list_converter
from dialogues.parsing.json_lines import json_lines_reader

read = json_lines_reader(utterance_list_converter("conversations", "from", "value"))

"""`tabs`: one dialogue a line, utterances separated by tabs, no header; two speakers, A and B, in turn."""

from dialogues.parsing.readers.eou import line_reader

read = line_reader("\t")

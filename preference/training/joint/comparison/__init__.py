"""The arms of Diamante's Table 5, trained from several seeds and compared on held-out dialogues."""

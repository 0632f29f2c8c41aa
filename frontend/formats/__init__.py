"""Dates and times as Django's date filter writes them: the same in both languages, in order when read from the left."""

DATE = "Y-m-d"
TIME = "H:i"
DATETIME = f"{DATE} {TIME}"

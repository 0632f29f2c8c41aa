"""Loads the admin pages of every room, so that Django finds them."""

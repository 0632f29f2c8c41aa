from rest_framework import pagination


class CursorPagination(pagination.CursorPagination):
    """Pages by primary key: the cost of a page does not grow with its distance, and new rows do not shift it."""

    ordering = "pk"
    page_size_query_param = "page_size"
    max_page_size = 200

from config.environment import name_wrong_settings, read_env_file

read_env_file()
name_wrong_settings()

from config.celery import app as celery_app  # noqa: E402  reads the environment

__all__ = ["celery_app"]

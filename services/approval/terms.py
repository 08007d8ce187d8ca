"""The times that a tenant's settings name."""

from datetime import timedelta

from services.approval.config import Config
from services.approval.effects import Terms


def terms(config: Config) -> Terms:
    return Terms(timedelta(hours=config.expires_after_hours), timedelta(minutes=config.send_by_minutes))

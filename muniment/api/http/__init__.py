"""The service: every verb over HTTP, for whoever a key or a token stands for."""

from muniment.api.http.app import create_app


__all__ = ["create_app"]

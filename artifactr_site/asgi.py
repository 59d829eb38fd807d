"""The ASGI application: HTTP to Django, WebSocket to the consumers."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artifactr_site.settings")
# A serving process keeps connections open; settings read this once, when they load below.
os.environ.setdefault("DATABASE_POOL_SIZE", "16")

http = get_asgi_application()

application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter([]))),
    }
)

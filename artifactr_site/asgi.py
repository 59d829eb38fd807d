"""The ASGI application: HTTP to Django, WebSocket to the consumers."""

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

from artifactr_site import tracing

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "artifactr_site.settings")
# A serving process keeps connections open; settings read this once, when they load below.
os.environ.setdefault("DATABASE_POOL_SIZE", "16")

tracing.set_up()  # adds a middleware, so it comes first
http = get_asgi_application()

# Consumers read models, which exist only now.
from artifacts import executor  # noqa: E402
from threads.consumers.pacing import paced  # noqa: E402
from threads.consumers.routing import websocket_application  # noqa: E402

application = ProtocolTypeRouter({"http": paced(http), "websocket": websocket_application})

# Where this process runs the tasks itself, it also looks for threads whose wake-up was lost.
executor.start()

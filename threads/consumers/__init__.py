"""The WebSocket surface of protocol `artifactr.v1`; sites mount `routing.websocket_application`."""

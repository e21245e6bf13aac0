"""What others may know of the gateway: its seams, the words of its control plane, and thin clients.

Knows nothing of how the gateway works inside. Everything of the gateway may import it, and it is all that
``training`` may import. To read in this order: :mod:`~gateway.api.seams`, :mod:`~gateway.api.directories`,
:mod:`~gateway.api.wire`, :mod:`~gateway.api.connections`, :mod:`~gateway.api.client`.
"""

"""Rules of collection of the live tests."""

collect_ignore = ["gst_server.py"]  # runs under the system's Python, which has GStreamer

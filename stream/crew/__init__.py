"""Faces drawn by several processes: their work is many small steps, which one core cannot share.

`crew` has the processes, `member` one of them, `crew_drawing` a stream's side of it, `worker` what
runs in each, `messages` what they tell each other, `shared_blocks` the memory that they share.
"""

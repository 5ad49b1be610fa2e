"""Faces drawn by several processes: their work is many small steps, which one core cannot share.

`crew` has the processes, `member` one of them, `crew_drawing` a stream's side of it and `frame_use`
one frame's, `worker` what runs in each, `messages` what they tell each other, `shared_blocks` the
memory that they share.
"""

"""What was found out, shown: the answer in a terminal, and one HTML page with plots.

Everything here is made from a `Judgement` and the run it came from, and can be made again at any
time. Nothing is started, measured or decided here: verdicts, intervals and the honesty about what
is not known come from `judge`, and are only put into words and pictures.
"""

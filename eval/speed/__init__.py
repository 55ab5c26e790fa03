"""How fast everything is: `python -m eval.speed.bench` measures time, `python -m eval.speed.guard` counts instructions."""

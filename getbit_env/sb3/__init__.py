"""The games for Stable-Baselines3: native `VecEnv`s, and callbacks for self-play. Needs the extra `getbit-env[sb3]`."""

try:
    import sb3_contrib  # noqa: F401 - only to say what is missing
    import stable_baselines3  # noqa: F401
except ImportError as _missing:
    _message = 'getbit_env.sb3 needs Stable-Baselines3 and sb3-contrib: pip install "getbit-env[sb3]"'
    raise ImportError(_message, name=_missing.name) from _missing

from getbit_env.sb3.callbacks import OpponentPool, Past, PastSampling
from getbit_env.sb3.evaluation import BenchmarkScore, Evaluation, Figure, WinRate
from getbit_env.sb3.exact_gain import ExactGain
from getbit_env.sb3.get_bit import GetBitVecEnv
from getbit_env.sb3.maskable_recurrent import MaskableRecurrentPPO, WithMasks
from getbit_env.sb3.models import network_of
from getbit_env.sb3.vec_env import SingleAgentVecEnv

__all__ = [
    "BenchmarkScore",
    "Evaluation",
    "ExactGain",
    "Figure",
    "GetBitVecEnv",
    "MaskableRecurrentPPO",
    "OpponentPool",
    "Past",
    "PastSampling",
    "SingleAgentVecEnv",
    "WinRate",
    "WithMasks",
    "network_of",
]
